package mail_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// A full disk fails the mail, leaves the previous one as it was and no incomplete file, and accepts mails again once
// there is room.
func TestFolderOnAFullDisk(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dir := t.TempDir()
	if err := syscall.Mount("ticketing", dir, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		t.Skipf("a small disk cannot be mounted (the test must run as root): %v", err)
	}
	t.Cleanup(func() { is.NoErr(syscall.Unmount(dir, 0)) })
	folder, err := mail.NewFolder(dir)
	is.NoErr(err)
	m := ticketMail(2)
	is.NoErr(folder.Mail(t.Context(), m))
	before, err := os.ReadFile(folder.Path(m.MessageID))
	is.NoErr(err)
	large := m
	large.Text = strings.Repeat("x", 512<<10)
	err = folder.Mail(t.Context(), large)
	checkError(t, err, ticketing.ErrMailServer, "")
	is.True(strings.Contains(err.Error(), "the disk is full"))
	is.Equal(files(t, dir), []string{filepath.Base(folder.Path(m.MessageID))})
	after, err := os.ReadFile(folder.Path(m.MessageID))
	is.NoErr(err)
	is.Equal(string(after), string(before))
	m.MessageID = "<0192f0c1.2@example.com>"
	is.NoErr(folder.Mail(t.Context(), m))
}
