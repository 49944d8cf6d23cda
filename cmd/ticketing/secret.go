package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/floatgate/ticketing/store"
)

const (
	minSecretKey = 32
	maxSecretKey = 1024
)

// parseSecretKeys parses --secret-key: keys separated by commas. It returns nil for an empty text.
func parseSecretKeys(text string) ([][]byte, error) {
	if text == "" {
		return nil, nil
	}
	var keys [][]byte
	for part := range strings.SplitSeq(text, ",") {
		key, err := parseSecretKey(part)
		if err != nil {
			return nil, badValue("--secret-key: %v", err)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

var errSecretKey = fmt.Errorf(
	"must be %d to %d bytes in hex or base64; \"openssl rand -hex 32\" makes one", minSecretKey, maxSecretKey)

// parseSecretKey parses one key: hex if all of it is hex digits, otherwise base64 of either alphabet, padded or not.
func parseSecretKey(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	key, err := hex.DecodeString(text)
	if err != nil {
		bare := strings.NewReplacer("+", "-", "/", "_").Replace(strings.TrimRight(text, "="))
		key, err = base64.RawURLEncoding.DecodeString(bare)
	}
	if err != nil || len(key) < minSecretKey || len(key) > maxSecretKey {
		return nil, errSecretKey
	}
	return key, nil
}

// secretKeyBeside reads the key that is kept beside a SQLite database, in PATH.key. If neither the key nor the database
// exists, it creates the key if mayMake is set, and otherwise fails with [store.ErrNoDatabase]. The caller creates the
// database only afterwards.
func secretKeyBeside(database string, mayMake bool) ([]byte, error) {
	path := database + ".key"
	key, err := readSecretKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	info, err := os.Stat(database)
	switch {
	case err == nil && info.IsDir():
		return nil, &failure{code: "UNAVAILABLE", text: "the database " + database + " is a folder"}
	case err == nil && info.Size() > 0:
		// If another process has just created both, it created the key first, so the key exists by now.
		key, err := readSecretKey(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("the secret key of the database is not in %s: put it back there, or give it with "+
				"--secret-key; if the database is another program's, name another with --database", path)
		}
		return key, err
	case !mayMake && (err == nil || errors.Is(err, fs.ErrNotExist)):
		return nil, store.ErrNoDatabase
	case !mayMake:
		return nil, err
	}
	if err := makeSecretKey(path); err != nil {
		if of, ok := errors.AsType[*fs.PathError](err); ok {
			err = of.Err // Its path is a temporary name.
		}
		return nil, fmt.Errorf("the secret key %s cannot be made: %w: %s", path, err, fileHint(err))
	}
	// It may be the key that another process created at the same moment.
	return readSecretKey(path)
}

// readSecretKey reads a key that only its owner could have read or written. The owner must be this user or root. It
// checks the open file, since the path may lead elsewhere a moment later. It refuses a symbolic link: a user who can
// create one there could choose the key. It accepts a second hard link, since owner and mode belong to the file and not
// to its names.
func readSecretKey(path string) ([]byte, error) {
	file, err := openSecretFile(path)
	if err != nil {
		if info, statErr := os.Lstat(path); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("the secret key %s is a symbolic link: put the file itself there, or give the key as "+
				"TICKETING_SECRET_KEY", path)
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, fmt.Errorf("the secret key %s cannot be read: permission denied: run as the owner of the file, or "+
				"give the key as TICKETING_SECRET_KEY", path)
		}
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("the secret key %s is a folder", path)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the secret key %s is not a regular file", path)
	}
	if owner := foreignOwner(info); owner != "" {
		return nil, fmt.Errorf("the secret key %s belongs to %s, who is neither this user nor root: run as the owner, give "+
			"the key as TICKETING_SECRET_KEY, or \"chown\" the file if you trust what is in it", path, owner)
	}
	const others = 0o077
	if runtime.GOOS != "windows" && info.Mode().Perm()&others != 0 {
		return nil, fmt.Errorf("the secret key %s can be read by others: run \"chmod 600\" on it, and replace it if others "+
			"may have read it", path)
	}
	// Two hex digits for each byte, and a line break.
	text, err := io.ReadAll(io.LimitReader(file, 2*maxSecretKey+2))
	if err != nil {
		return nil, fmt.Errorf("read the secret key: %w", err)
	}
	key, err := parseSecretKey(string(text))
	if err != nil {
		return nil, fmt.Errorf("the secret key in %s is damaged: it %w", path, err)
	}
	return key, nil
}

// makeSecretKey writes a random key to a file. The file gets its name only after it is complete and synced to disk, so
// no process ever reads a part of it. An existing file is left as it is.
func makeSecretKey(path string) error {
	key := make([]byte, minSecretKey)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	directory := filepath.Dir(path)
	file, err := os.CreateTemp(directory, filepath.Base(path)+".*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDirectory(directory)
}

// syncDirectory syncs the names in a directory to disk, where the operating system supports it.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	directory, err := os.Open(path) //nolint:gosec // The directory of the database.
	if err != nil {
		return err
	}
	defer func() { _ = directory.Close() }()
	return directory.Sync()
}

// secretFile is the text of a file that holds a secret, without the white space around it. Its owner and mode are not
// checked: service managers and container engines provide secrets in files with various owners and modes, and as links.
type secretFile struct{ text string }

func (v *secretFile) UnmarshalText(path []byte) error {
	const longest = 64 << 10
	file, err := os.Open(string(path))
	if err != nil {
		return badValue("%s cannot be read: %v", path, reason(err))
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, longest+1))
	if err != nil {
		return badValue("%s cannot be read: %v", path, reason(err))
	}
	if len(text) > longest {
		return badValue("%s is longer than %d bytes", path, longest)
	}
	if v.text = strings.TrimSpace(string(text)); v.text == "" {
		return badValue("%s is empty", path)
	}
	if !utf8.ValidString(v.text) {
		return badValue("%s is not valid UTF-8", path)
	}
	return nil
}
