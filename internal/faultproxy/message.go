package faultproxy

import (
	"bytes"
	"encoding/binary"
)

// MaxPayload is the maximum number of bytes of a message's payload that the observer sees. The rest is forwarded
// without being kept.
const MaxPayload = 64 << 10

// Message is a message of PostgreSQL's protocol, version 3.
type Message struct {
	Connection int    // 1 for the first connection that the proxy forwarded
	Backend    bool   // whether the server sends it
	Type       byte   // such as 'Q'; 0 for a message that opens a connection: start-up or cancel request
	Payload    []byte // the bytes after the length, at most MaxPayload; valid during the call
	Length     int    // of the complete payload
}

// SQL returns the statement of a client's Query or Parse message, as far as the payload contains it, or "" for any
// other message.
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

// Action is what the proxy does with a message and its connection.
type Action int

const (
	// Pass forwards the message.
	Pass Action = iota
	// Cut closes the connection on both sides. The message is not forwarded; earlier ones were.
	Cut
	// PassAndCut forwards the message, and nothing after it, and disconnects its sender. So the server executes a
	// COMMIT whose answer is lost, if it needs no further message to come to it, or the client gets an answer from a
	// server that has lost the client.
	PassAndCut
)

// What a connection begins with: a length that includes itself, and a code.
const (
	opening        = 8
	longestOpening = 10_000 // PostgreSQL's own limit
	codeCancel     = 80877102
	codeTLS        = 80877103
	codeGSS        = 80877104
	version3       = 3
)

// opens reports whether the bytes can open a PostgreSQL connection, and whether they request encryption.
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
