package main

import (
	"bufio"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the parts of an actor's name, which together are at most the 200 characters that the audit log takes.
const (
	maxUserName = 40
	maxHostName = 64
	maxClaim    = 64
)

// claim is who the person at the command line says they are.
type claim struct{ text string }

func (v *claim) UnmarshalText(text []byte) error {
	v.text = strings.TrimSpace(string(text))
	if length := utf8.RuneCountInString(v.text); length < 1 || length > maxClaim ||
		strings.ContainsFunc(v.text, unicode.IsControl) {
		return badValue("must be 1 to %d characters on one line", maxClaim)
	}
	return nil
}

// actorName is the name of the command line in the audit log: "command line of USER@HOST", and ", claimed: TEXT" after it
// where --actor is given. USER and HOST hold no comma, so the first one ends what the operating system said.
func actorName(user, host, claimed string) string {
	name := "command line of " + namePart(user, maxUserName)
	if host = namePart(host, maxHostName); host != "" {
		name += "@" + host
	}
	if claimed != "" {
		name += ", claimed: " + claimed
	}
	return name
}

// namePart is what the operating system said, on one line, without commas and no longer than limit.
func namePart(said string, limit int) string {
	letters := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), r == utf8.RuneError:
			return -1
		case r == ',':
			return '_'
		}
		return r
	}, said)))
	return string(letters[:min(len(letters), limit)])
}

// systemUser is the operating system's name of a user, and "uid N" where it has none, as in many containers. /etc/passwd is
// read first: built without cgo, package user believes $USER of a user who is not in it.
func systemUser(uid int) string {
	if uid < 0 { // Windows, where Current asks the system.
		if current, err := user.Current(); err == nil {
			return current.Username
		}
		return "unknown user"
	}
	if file, err := os.Open("/etc/passwd"); err == nil {
		defer func() { _ = file.Close() }()
		if name := nameIn(file, uid); name != "" {
			return name
		}
	}
	id := strconv.Itoa(uid)
	if !asksSystem {
		return "uid " + id
	}
	if found, err := user.LookupId(id); err == nil && found.Username != "" {
		return found.Username
	}
	return "uid " + id
}

// nameIn returns the name of a user in a file of the form of /etc/passwd, or nothing.
func nameIn(passwd io.Reader, uid int) string {
	lines := bufio.NewScanner(passwd)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), ":"); len(fields) > 2 && fields[2] == strconv.Itoa(uid) {
			return fields[0]
		}
	}
	return ""
}

// hostName is the operating system's name of the host, "" where it has none.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
