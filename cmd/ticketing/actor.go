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

// Limits of the parts of an actor's name, in characters. Together they stay within the 200 characters that the audit
// log accepts.
const (
	maxUserName = 40
	maxHostName = 64
	maxClaim    = 64
)

// claim is the name that the person at the command line gives with --actor. Nothing verifies it.
type claim struct{ text string }

func (v *claim) UnmarshalText(text []byte) error {
	v.text = strings.TrimSpace(string(text))
	if length := utf8.RuneCountInString(v.text); length < 1 || length > maxClaim ||
		strings.ContainsFunc(v.text, unicode.IsControl) {
		return badValue("must be 1 to %d characters on one line", maxClaim)
	}
	return nil
}

// actorName returns the name of the command line in the audit log: "command line of USER@HOST", followed by ", claimed:
// TEXT" if --actor is given. USER and HOST contain no comma, so the first comma ends what the operating system
// reported.
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

// namePart returns a name that the operating system reported, on one line, without commas and at most limit characters
// long.
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

// systemUser returns the operating system's name of a user, or "uid N" if it has none, as in many containers. It reads
// /etc/passwd first: without cgo, package user trusts $USER for a user who is not in that file.
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

// nameIn returns the name of a user in a file in the format of /etc/passwd, or "" if the user is not in it.
func nameIn(passwd io.Reader, uid int) string {
	lines := bufio.NewScanner(passwd)
	for lines.Scan() {
		if fields := strings.Split(lines.Text(), ":"); len(fields) > 2 && fields[2] == strconv.Itoa(uid) {
			return fields[0]
		}
	}
	return ""
}

// hostName returns the operating system's name of the host, or "" if it has none.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}
