package faultproxy

import (
	"bytes"
	"encoding/binary"
)

// MaxPayload is the most of a message's payload that is shown. The rest passes without being kept.
const MaxPayload = 64 << 10

// Message is a message of PostgreSQL's protocol, version 3.
type Message struct {
	Connection int    // 1 for the first connection that the proxy passed on
	Backend    bool   // whether the server sends it
	Type       byte   // such as 'Q'; 0 for what opens a connection: start-up and cancel request
	Payload    []byte // what follows the length, at most MaxPayload bytes; valid during the call
	Length     int    // of the whole payload
}

// SQL is the statement of a client's Query or Parse message, as far as it is shown; empty for all others.
func (m Message) SQL() string {
	if m.Backend {
		return ""
	}
	text := m.Payload
	switch m.Type {
	case 'P':
		_, text, _ = bytes.Cut(text, []byte{0}) // The name of the statement.
	case 'Q':
	default:
		return ""
	}
	text, _, _ = bytes.Cut(text, []byte{0})
	return string(text)
}

// Action is what becomes of a message and its connection.
type Action int

const (
	// Pass passes the message on.
	Pass Action = iota
	// Cut closes the connection on both sides. The message does not pass, those before it did.
	Cut
	// PassAndCut passes the message on to where it goes, which nothing else reaches then, and cuts off who sent it: the
	// server works on a COMMIT whose answer is lost, or the client gets an answer from a server that lost it.
	PassAndCut
)

// What opens a connection: a length that counts itself, and a code.
const (
	opening        = 8
	longestOpening = 10_000 // PostgreSQL's own bound
	codeCancel     = 80877102
	codeTLS        = 80877103
	codeGSS        = 80877104
	version3       = 3
)

// opens tells whether bytes may open a connection, and whether they ask for encryption.
func opens(begin []byte) (postgres, encryption bool) {
	length, code := binary.BigEndian.Uint32(begin), binary.BigEndian.Uint32(begin[4:])
	switch code {
	case codeTLS, codeGSS:
		return length == opening, true
	case codeCancel:
		return length <= longestOpening, false
	default:
		return length >= opening && length <= longestOpening && code>>16 == version3, false
	}
}
