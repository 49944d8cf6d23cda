package ticketing_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// phoneKey returns the params of a passkey.
func phoneKey(id string) ticketing.PasskeyParams {
	return ticketing.PasskeyParams{ID: id, Name: " Phone ", Credential: `{"publicKey":"cG4"}`, Counter: 5}
}

// use returns a use of a passkey whose challenge was made just now.
func (e *env) use(id, credential string, counter int64) ticketing.PasskeyUse {
	return ticketing.PasskeyUse{ID: id, Credential: credential, Counter: counter, ChallengedAt: e.clock.now()}
}

// TestARepeatedUseOfAPasskeyIsRefused checks, for a device that does not count, that of several uses of one challenge
// one counts, and that a challenge from before the last use is refused.
func TestARepeatedUseOfAPasskeyIsRefused(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		params := phoneKey("cGhvbmU")
		params.Counter = 0
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), ada, params)))
		early := e.use("cGhvbmU", "{}", 0)
		e.clock.advance(time.Minute)
		use := e.use("cGhvbmU", "{}", 0)
		// A clock that goes back, or that of another process, does not make the use a new one.
		e.clock.advance(-time.Second)
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = second(e.Accounts().SignInByPasskey(t.Context(), ada, use, laptop)) })
		}
		wg.Wait()
		is.Equal(len(slices.DeleteFunc(errs, func(err error) bool { return err != nil })), 1)
		for _, again := range []ticketing.PasskeyUse{use, early, {ID: "cGhvbmU", Credential: "{}"}} {
			is.Equal(code(e.Accounts().UsePasskey(t.Context(), ada, again)), ticketing.CodeSignInRequired)
		}
		sessions, err := e.Accounts().ListSessions(t.Context(), ada)
		is.NoErr(err)
		is.Equal(len(sessions), 1)
		e.clock.advance(time.Minute)
		is.NoErr(e.Accounts().UsePasskey(t.Context(), ada, e.use("cGhvbmU", "{}", 0)))
	})
}

// TestAnEndedSessionAddsNoPasskey checks that the end of a session, as after the loss of a device, also stops a passkey
// that was about to be added in it.
func TestAnEndedSessionAddsNoPasskey(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		params := phoneKey("cGhvbmU")
		params.SessionID = e.signIn(t, ada).Session.ID
		is.NoErr(second(e.Accounts().AddPasskey(t.Context(), ada, params)))
		is.NoErr(second(e.Accounts().EndSessions(t.Context(), ada)))
		params.ID = "c2Vjb25k"
		is.Equal(code(second(e.Accounts().AddPasskey(t.Context(), ada, params))), ticketing.CodeSignInRequired)
		is.Equal(e.passkeys(t, ada), 1)
	})
}

func TestPasskeysAreAddedNamedUsedAndRemoved(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		accounts := e.Accounts()
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		bisi := e.employ(t, "bisi@platform.ng", ticketing.StaffSupport).UserID
		added, err := accounts.AddPasskey(t.Context(), ada, phoneKey("cGhvbmU"))
		is.NoErr(err)
		is.Equal(show(t, added), `{"id":"cGhvbmU","userId":"`+ada.String()+`","name":"Phone",`+
			`"createdAt":"2026-11-21T09:30:00.000Z","lastUsedAt":null}`)
		is.Equal(said(second(accounts.AddPasskey(t.Context(), ada, phoneKey("cGhvbmU")))),
			"This passkey has been added already.")
		is.Equal(said(second(accounts.AddPasskey(t.Context(), uuid.New(), phoneKey("cGhvbmU")))), "The user was not found.")
		e.clock.advance(time.Second)
		second2, err := accounts.AddPasskey(t.Context(), ada, phoneKey("c2Vjb25k"))
		is.NoErr(err)
		renamed, err := accounts.RenamePasskey(t.Context(), ada, "c2Vjb25k", "Laptop")
		is.NoErr(err)
		second2.Name = "Laptop"
		is.Equal(renamed, second2)
		is.NoErr(accounts.UsePasskey(t.Context(), ada, e.use("cGhvbmU", `{"publicKey":"cG4","n":6}`, 6)))
		listed, err := accounts.ListPasskeys(t.Context(), ada)
		is.NoErr(err)
		is.Equal(len(listed), 2)
		is.Equal(listed[0].Credential, `{"publicKey":"cG4","n":6}`)
		is.Equal(listed[0].Counter, int64(6))
		is.Equal(show(t, listed[0].LastUsedAt), `"2026-11-21T09:30:01.000Z"`)
		is.Equal(listed[1], renamed)
		// Nobody else has them.
		for _, err := range []error{
			second(accounts.RenamePasskey(t.Context(), bisi, "cGhvbmU", "Mine")),
			accounts.RemovePasskey(t.Context(), bisi, "cGhvbmU"),
			accounts.RemovePasskey(t.Context(), ada, "bm9uZQ"),
		} {
			is.Equal(said(err), "The passkey was not found.")
		}
		is.Equal(code(accounts.UsePasskey(t.Context(), bisi, e.use("cGhvbmU", "{}", 9))), ticketing.CodeSignInRequired)
		is.NoErr(accounts.RemovePasskey(t.Context(), ada, "cGhvbmU"))
		is.Equal(code(accounts.UsePasskey(t.Context(), ada, e.use("cGhvbmU", "{}", 9))), ticketing.CodeSignInRequired)
		listed, err = accounts.ListPasskeys(t.Context(), ada)
		is.NoErr(err)
		is.Equal(listed, []ticketing.Passkey{renamed})

		var acts []string
		for _, act := range e.acts(t, uuid.Nil) {
			if act.Actor == "user "+ada.String() {
				acts = append(acts, act.Action+" "+string(act.Changes))
			}
		}
		slices.Sort(acts)
		is.Equal(acts, []string{
			`passkey.add {"passkey":{"before":null,"after":"Phone"}}`,
			`passkey.add {"passkey":{"before":null,"after":"Phone"}}`,
			`passkey.remove {"passkey":{"before":"Phone","after":null}}`,
			`passkey.rename {"passkey":{"before":"Phone","after":"Laptop"}}`,
		})
	})
}

// TestACounterNeverGoesBack checks that a passkey whose counter did not grow is refused, unless it never counts.
func TestACounterNeverGoesBack(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		accounts := e.Accounts()
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		add := func(id string, counter int64) {
			params := phoneKey(id)
			params.Counter = counter
			is.NoErr(second(accounts.AddPasskey(t.Context(), ada, params)))
		}
		use := func(id string, counter int64) string {
			e.clock.advance(time.Millisecond)
			return said(accounts.UsePasskey(t.Context(), ada, e.use(id, "{}", counter)))
		}
		const refused = "This passkey was not accepted. Sign in another way."
		add("cGhvbmU", 5)
		is.Equal(use("cGhvbmU", 6), "")
		for _, counter := range []int64{6, 5, 0} {
			is.Equal(use("cGhvbmU", counter), refused)
		}
		is.Equal(use("cGhvbmU", 8), "")
		add("bm9uZQ", 0)
		is.Equal(use("bm9uZQ", 0), "")
		is.Equal(use("bm9uZQ", 0), "")
		is.Equal(use("bm9uZQ", 1), "")
		is.Equal(use("bm9uZQ", 0), refused)
		is.Equal(use("bm9uZQ", -1), "counter: must not be negative")
		// Of two uses with one counter at the same time one counts.
		e.clock.advance(time.Millisecond)
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = accounts.UsePasskey(t.Context(), ada, e.use("cGhvbmU", "{}", 9)) })
		}
		wg.Wait()
		is.True((errs[0] == nil) != (errs[1] == nil))
		is.Equal(said(errors.Join(errs...)), refused)
	})
}

func TestAUserHasTwentyPasskeys(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		accounts := e.Accounts()
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		for i := range 19 {
			is.NoErr(second(accounts.AddPasskey(t.Context(), ada, phoneKey("AA"+strconv.Itoa(10+i)))))
		}
		// Of two at the same time one is the twentieth.
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() {
				errs[i] = second(accounts.AddPasskey(t.Context(), ada, phoneKey("BB"+strconv.Itoa(10+i))))
			})
		}
		wg.Wait()
		is.True((errs[0] == nil) != (errs[1] == nil))
		is.Equal(said(errors.Join(errs...)), "A user has at most 20 passkeys. Remove one first.")
		is.NoErr(accounts.RemovePasskey(t.Context(), ada, "AA10"))
		is.NoErr(second(accounts.AddPasskey(t.Context(), ada, phoneKey("AA10"))))
	})
}

func TestAPasskeyIsChecked(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		ada := e.join(t, e.unverified(t), "ada@adire.ng", ticketing.RoleOwner).UserID
		const (
			id   = "id: must be 1 to 1400 characters of unpadded base64url"
			text = "credential: must be JSON of at most 20000 bytes"
		)
		for _, test := range []struct {
			change func(p *ticketing.PasskeyParams)
			want   string
		}{
			{func(p *ticketing.PasskeyParams) { p.ID = "" }, id},
			{func(p *ticketing.PasskeyParams) { p.ID = "cGhvbmU=" }, id},
			{func(p *ticketing.PasskeyParams) { p.ID = "cGhv\nbmU" }, id},
			{func(p *ticketing.PasskeyParams) { p.ID = "cGhvbmV" }, id}, // bits that no encoder sets
			{func(p *ticketing.PasskeyParams) { p.ID = strings.Repeat("A", 1404) }, id},
			{func(p *ticketing.PasskeyParams) { p.ID = strings.Repeat("A", 1400) }, ""},
			{func(p *ticketing.PasskeyParams) { p.Name = " " }, "name: must not be empty"},
			{func(p *ticketing.PasskeyParams) { p.Name = strings.Repeat("é", 101) }, "name: must be at most 100 characters"},
			{func(p *ticketing.PasskeyParams) { p.Credential = "" }, text},
			{func(p *ticketing.PasskeyParams) { p.Credential = `"` + strings.Repeat("x", 20_000) + `"` }, text},
			{func(p *ticketing.PasskeyParams) { p.Counter = -1 }, "counter: must not be negative"},
		} {
			params := phoneKey("cGhvbmU")
			test.change(&params)
			_, err := e.Accounts().AddPasskey(t.Context(), ada, params)
			is.New(t).Equal(said(err), test.want)
		}
		_, err := e.Accounts().RenamePasskey(t.Context(), ada, "cGhvbmU", "")
		is.New(t).Equal(said(err), "name: must not be empty")
	})
}
