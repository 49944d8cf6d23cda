package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

const secretSize = 32

// secretKey reads the key for the digests of API keys from a file beside the database. Without it no API key of the
// database works any more, so it is part of every backup. It is made at the first start only, before the database,
// since a new key for an old database would lock every storefront out.
func secretKey(database string) ([]byte, error) {
	path := database + ".key"
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeSecretKey(path, database)
	}
	if err != nil {
		return nil, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read by others: chmod 600, and consider it known to them", path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // The host names its own file.
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != secretSize {
		return nil, fmt.Errorf("%s is damaged: %d bytes in hex were expected", path, secretSize)
	}
	return key, nil
}

// makeSecretKey stores a new key on disk before it is used.
func makeSecretKey(path, database string) ([]byte, error) {
	if _, err := os.Stat(database); !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%s has no key: put %s back where it was", database, path), err)
	}
	key := make([]byte, secretSize)
	_, _ = rand.Read(key)                                                    // It never fails.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The host's own file.
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	return key, errors.Join(err, file.Sync(), file.Close())
}
