package mail

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/floatgate/ticketing"
)

// maxFolderName is the longest name of a file that is made of a message id. Most file systems take 255 bytes.
const maxFolderName = 200

// Folder writes mails to a folder, for development: nothing is sent. It is a [ticketing.Mailer], safe for concurrent
// use by several processes.
type Folder struct {
	*Renderer // makes the mails, where [ticketing.Config] names no other MailRenderer

	dir string
}

var (
	_ ticketing.Mailer       = (*Folder)(nil)
	_ ticketing.MailRenderer = (*Folder)(nil)
)

// NewFolder returns a mailer that writes to the folder, which it creates if there is none. Only the user of the process
// can read a new folder and the mails in it.
func NewFolder(dir string) (*Folder, error) {
	if dir == "" {
		return nil, errors.New("mail: the folder for mails has no name")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("mail: create the folder for mails: %w", err)
	}
	// A later change of the process's folder does not change the path.
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("mail: find the folder for mails: %w", err)
	}
	return &Folder{Renderer: NewRenderer(), dir: dir}, nil
}

// Path returns the file that a mail with the message id is written to: its name is the message id without its angle
// brackets, and ".eml". Two message ids never share a file.
func (f *Folder) Path(messageID string) string {
	return filepath.Join(f.dir, folderName(messageID)+".eml")
}

// Mail writes the mail as [Format] makes it. A file gets its name only when it is complete, and replaces one with the
// same message id. If a file cannot be written, the error wraps [ticketing.ErrMailServer], and nothing is left of it.
func (f *Folder) Mail(ctx context.Context, m ticketing.Mail) error {
	text, err := Format(m)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return failed(textCanceled, ctx.Err())
	}
	if err := f.write(f.Path(m.MessageID), text); err != nil {
		return failed(textFolder+fileText(err), ticketing.ErrMailServer)
	}
	return nil
}

func (f *Folder) write(path string, text []byte) (err error) {
	file, err := os.CreateTemp(f.dir, ".mail-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if _, err := file.Write(text); err != nil {
		_ = file.Close()
		return err
	}
	// A full disk may show only here.
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// folderName returns the message id as the name of a file. It keeps lower-case letters, digits and a few signs, and
// writes all else as % and two hexadecimal digits: file systems may take upper and lower case for the same. A long one
// is cut, and ends with a digest of the whole.
func folderName(messageID string) string {
	messageID = strings.TrimSuffix(strings.TrimPrefix(messageID, "<"), ">")
	var b strings.Builder
	for i := range len(messageID) {
		c := messageID[i]
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_', c == '@', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > maxFolderName {
		digest := fmt.Sprintf("%%-%x", sha256.Sum256([]byte(messageID)))
		name = name[:maxFolderName-len(digest)] + digest
	}
	return name
}

func fileText(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full"
	case errors.Is(err, fs.ErrNotExist):
		return "the folder is gone"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "permission denied"
	}
	return "input or output error"
}
