package mail_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// A mail is a file that a mail program opens. The same mail again replaces it, and another mail gets its own file.
func TestFolderHasAFileForEachMail(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "new", "mails")
	folder, err := mail.NewFolder(dir)
	is.NoErr(err)
	m := ticketMail(2)
	is.NoErr(folder.Mail(t.Context(), m))
	is.Equal(folder.Path(m.MessageID), filepath.Join(dir, "0192f0c1.1@example.com.eml"))
	m.Subject = "again"
	is.NoErr(folder.Mail(t.Context(), m))
	data, err := os.ReadFile(folder.Path(m.MessageID))
	is.NoErr(err)
	checkMessage(t, data, m)
	info, err := os.Stat(folder.Path(m.MessageID))
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o600)) // it has a buyer's tickets
	m.MessageID = "<0192f0c1.2@example.com>"
	is.NoErr(folder.Mail(t.Context(), m))
	is.Equal(len(files(t, dir)), 2)

	m.To = "nobody"
	checkError(t, folder.Mail(t.Context(), m), ticketing.ErrMailRefused, "")
	m = ticketMail(1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	is.True(errors.Is(folder.Mail(ctx, m), context.Canceled))
	is.Equal(len(files(t, dir)), 2)
}

// No message id leads out of the folder, and no two share a file, even if upper and lower case are the same.
func TestFolderNamesAreSafe(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dir := t.TempDir()
	folder, err := mail.NewFolder(dir)
	is.NoErr(err)
	long := strings.Repeat("a", 200)
	paths := make(map[string]string)
	for _, id := range []string{
		"<../../x@example.com>", "<..@x>", "<.x@x>", "<a/b@x>", `<a\b@x>`, "<a:b@x>", "<A@x>", "<a@x>", "<%41@x>", "<a%@x>",
		"<" + long + "b@example.com>", "<" + long + "c@example.com>", "<con@x>", "<a@x.eml>", "<a*?|\"@x>",
		"<" + strings.ToUpper(long) + "@example.com>", "<" + strings.ToUpper(long) + "A@example.com>",
	} {
		path := folder.Path(id)
		is.Equal(filepath.Dir(path), dir)
		is.True(len(filepath.Base(path)) <= 255)
		is.True(!strings.HasPrefix(filepath.Base(path), "."))
		is.Equal(paths[strings.ToLower(path)], "")
		paths[strings.ToLower(path)] = id
		m := ticketMail(0)
		m.MessageID = id
		is.NoErr(folder.Mail(t.Context(), m))
		_, err := os.Stat(path)
		is.NoErr(err)
	}
	is.Equal(len(files(t, dir)), len(paths))
}

// Mails that are written concurrently do not mix, and only complete mails are left.
func TestFolderTakesMailsAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dir := t.TempDir()
	folder, err := mail.NewFolder(dir)
	is.NoErr(err)
	m := ticketMail(3)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { is.NoErr(folder.Mail(t.Context(), m)) })
	}
	all.Wait()
	is.Equal(len(files(t, dir)), 1)
	data, err := os.ReadFile(folder.Path(m.MessageID))
	is.NoErr(err)
	checkMessage(t, data, m)
}

// A missing folder is the fault of the server, not of the mail.
func TestFolderIsGone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dir := filepath.Join(t.TempDir(), "mails")
	folder, err := mail.NewFolder(dir)
	is.NoErr(err)
	is.NoErr(os.Remove(dir))
	checkError(t, folder.Mail(t.Context(), ticketMail(1)), ticketing.ErrMailServer, "")
	is.NoErr(os.WriteFile(dir, nil, 0o600))
	_, err = mail.NewFolder(dir)
	is.True(err != nil)
	_, err = mail.NewFolder("")
	is.True(err != nil)
}

// files returns the names of all files in the folder, also of hidden ones.
func files(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	is.New(tb).NoErr(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}
