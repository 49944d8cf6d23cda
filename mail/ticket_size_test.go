package mail_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/mail"
)

// maxHTML is the most that Gmail shows of a mail, and some room.
const maxHTML = 95_000

// TestTheLargestMailIsNotClipped renders 50 admissions with the longest texts of all sorts, each at a price of its own.
func TestTheLargestMailIsNotClipped(t *testing.T) {
	t.Parallel()
	race.Leave(t, "large mails")
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, character string }{
		{name: "letters", character: "W"},
		{name: "ampersands", character: "&"},
		{name: "quotes", character: `"`},
		{name: "apostrophes", character: "'"},
		{name: "plus signs", character: "+"},
		{name: "tags", character: "<"},
		{name: "Arabic", character: "ش"},
		{name: "Chinese", character: "票"},
		{name: "emoji", character: "🎷"},
		{name: "a rare letter", character: "\U0010FFFD"},
		{name: "combining marks", character: "\u0301"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := longest(50, tt.character)
			made := render(is, renderer, tickets)
			t.Logf("%d bytes of HTML, %d of text", len(made.HTML), len(made.Text))
			is.True(len(made.HTML) <= maxHTML)
			is.True(strings.HasSuffix(strings.TrimSpace(made.HTML), "</html>"))
			is.Equal(strings.Count(made.HTML, `src="cid:`), 50)
			// The plain text has everything in full.
			is.Equal(strings.Count(made.Text, "\n"+strings.Repeat(tt.character, 200)+"\n"), 50)
			is.Equal(strings.Count(made.Text, "\n"+strings.Repeat(tt.character, 60)+"\n"), 50)
		})
	}
}

// TestUsualTextsAreNeverCut renders titles of the greatest length with an order that is else a usual one.
func TestUsualTextsAreNeverCut(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, title string }{
		{name: "English", title: strings.Repeat("Jazz night ", 18) + "!!"},
		{name: "Yoruba", title: strings.Repeat("Alẹ́ Orin ", 20)},
		{name: "Arabic", title: strings.Repeat("ليلة ", 40)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(len([]rune(tt.title)), 200)
			made := render(is, renderer, lagosMail(seats(50, tt.title, "Early access", 25_000_00)...))
			t.Logf("%d bytes of HTML", len(made.HTML))
			is.True(len(made.HTML) <= maxHTML)
			is.Equal(strings.Count(made.HTML, ">"+strings.TrimSpace(tt.title)+"</p>"), 50)
			is.True(strings.Contains(made.HTML, "No re-entry after 21:00."))
		})
	}
}

// TestATitleIsCutBetweenWholeCharacters shortens a title of emoji that are composed of four characters.
func TestATitleIsCutBetweenWholeCharacters(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	singer := "👩🏽\u200d🎤"
	tickets := lagosMail(seats(50, strings.Repeat(singer, 50), strings.Repeat(singer, 15), 1)...)
	tickets.Event.Title = strings.Repeat(singer, 50)
	made := render(is, mail.NewRenderer(), tickets)
	is.True(len(made.HTML) <= maxHTML)
	for _, text := range []string{made.HTML, made.Subject} {
		cut := strings.Count(text, "…")
		is.True(cut > 0)
		is.Equal(strings.Count(text, singer+"…")+strings.Count(text, "order …"), cut)
	}
}
