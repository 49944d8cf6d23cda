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

	"github.com/floatgate/ticketing/store"
)

const (
	minSecretKey = 32
	maxSecretKey = 1024
)

// parseSecretKeys reads --secret-key: nil for none, else keys separated by commas.
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

// parseSecretKey reads one key: hex where all of it is hex digits, else base64 of either alphabet, padded or not.
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

// secretKeyBeside reads the key that is kept beside a SQLite database, in PATH.key. Where neither the key nor the
// database is there, it makes the key, if it may, and else fails with [store.ErrNoDatabase]. The caller makes the database
// only after it.
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
		// If another process has just made both, then the key before the database, so it is there by now.
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
			err = of.Err // Its path is of no use to anyone: it was made up.
		}
		return nil, fmt.Errorf("make the secret key %s: %w", path, err)
	}
	// It may be the one that another process made at the same moment.
	return readSecretKey(path)
}

// readSecretKey reads a key that nobody but its owner, who is this user or root, could have read or written. What is
// checked is the open file: its path may lead elsewhere a moment later. A symbolic link is refused, since whoever may put
// one there chooses the key. A second hard link is not: owner and mode are the file's, whatever its names.
func readSecretKey(path string) ([]byte, error) {
	file, err := openSecretFile(path)
	if err != nil {
		if info, statErr := os.Lstat(path); statErr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("the secret key %s is a symbolic link: put the file itself there, or give the key as "+
				"TICKETING_SECRET_KEY", path)
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
		return nil, fmt.Errorf("the secret key %s is no regular file", path)
	}
	if owner := foreignOwner(info); owner != "" {
		return nil, fmt.Errorf("the secret key %s belongs to %s, who is neither this user nor root: run as the owner, give "+
			"the key as TICKETING_SECRET_KEY, or \"chown\" the file if you trust what is in it", path, owner)
	}
	const others = 0o077
	if runtime.GOOS != "windows" && info.Mode().Perm()&others != 0 {
		return nil, fmt.Errorf("the secret key %s can be read by others: run \"chmod 600\" on it, and consider it known "+
			"to whoever could read it", path)
	}
	// Two hex digits a byte, and a line break.
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

// makeSecretKey keeps a random key in a file, whole and on the disk before it has its name, so that no process ever
// reads a part of it. Where the file is there already it is left as it is.
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

// syncDirectory makes the names in a directory outlive a loss of power, where the system can do that.
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
