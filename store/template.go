package store

import (
	"bytes"
	"strconv"
	"strings"
)

// A template is a statement without its literals: statements that differ in nothing else have the same template, so
// PostgreSQL needs to parse and plan it once for a connection. In its text a mark stands for each literal: a zero byte,
// which no statement contains, and a byte for the type.
const literalMark = 0

// literalTypes are the types of literals. The byte after a mark is the index of its type.
//
//nolint:gochecknoglobals // A table that nothing changes.
var literalTypes = [...]string{
	"uuid", "bigint", "text", "bytea", "boolean", "uuid[]", "bigint[]", "text[]", "bytea[]", "boolean[]", "int[]",
}

func literalType(name string) byte {
	for i, known := range literalTypes {
		if known == name {
			return byte(i)
		}
	}
	panic("ticketing/store: a literal of an unknown type")
}

// literals are the literals of a template, in the order of their marks.
type literals struct {
	text []byte
	ends []int // the end of each literal in text
}

// part is one statement of a message, from the end of the part before it.
type part struct {
	text, literals, copied int // its end in the text, in the ends of the literals, and in the rows of COPY
	prepare                keeping
	shards                 *companyShards // the statement names these
	core                   core
}

// keeping is whether a connection keeps a statement prepared.
type keeping int

const (
	keepNot keeping = iota
	keepWithRoom
	keepAlways
)

// keepingOf returns whether a statement is kept, by its name.
func keepingOf(name string) keeping {
	if isHot(name) {
		return keepAlways
	}
	return keepWithRoom
}

// beginLiteral returns where to append a literal. The caller then calls endLiteral and writes nothing else in between.
func (b *builder) beginLiteral() *[]byte {
	if b.template {
		return &b.literals.text
	}
	return &b.text
}

// endLiteral ends a literal of a type. Without a template the type is written next to it. Texts and booleans need none.
func (b *builder) endLiteral(name string) {
	switch {
	case b.template:
		b.literals.ends = append(b.literals.ends, len(b.literals.text))
		b.text = append(b.text, literalMark, literalType(name))
	case name != "text" && name != "boolean":
		b.text = append(append(b.text, "::"...), name...)
	}
}

// append appends another builder's statement.
func (b *builder) append(other *builder) {
	if other.err != nil {
		b.err = other.err
	}
	for _, end := range other.literals.ends {
		b.literals.ends = append(b.literals.ends, len(b.literals.text)+end)
	}
	b.literals.text = append(b.literals.text, other.literals.text...)
	b.text = append(b.text, other.text...)
	b.copied = append(b.copied, other.copied...)
	b.joined = b.joined || other.joined
}

// appendParts appends the statements of another builder, each of which has ended.
func (b *builder) appendParts(other *builder) {
	text, literals, copied := len(b.text), len(b.literals.ends), len(b.copied)
	b.append(other)
	for _, p := range other.parts {
		p.text, p.literals, p.copied = text+p.text, literals+p.literals, copied+p.copied
		b.parts = append(b.parts, p)
	}
}

// endPart ends a statement of a message. It names the shards if any are given.
func (b *builder) endPart(prepare keeping, shards *companyShards) {
	b.endPartOf(prepare, shards, core{})
}

// endPartOf is endPart for a statement with a core.
func (b *builder) endPartOf(prepare keeping, shards *companyShards, of core) {
	b.parts = append(b.parts, part{len(b.text), len(b.literals.ends), len(b.copied), prepare, shards, of})
}

// inPart returns how long the statement of a message is that has not ended.
func (b *builder) inPart() int {
	if len(b.parts) == 0 {
		return len(b.text)
	}
	return len(b.text) - b.parts[len(b.parts)-1].text
}

// statements returns the statements of the message: all that have ended, or the only one.
func (b *builder) statements() []part {
	if b.parts == nil {
		return []part{{len(b.text), len(b.literals.ends), len(b.copied), b.prepare, b.shards, core{}}}
	}
	return b.parts
}

// kept returns whether a connection keeps the statement prepared. One with its values in the text is never kept.
func (b *builder) kept() keeping {
	if !b.template {
		return keepNot
	}
	return b.prepare
}

// size returns the number of bytes that the statements and the rows of COPY have.
func (b *builder) size() int { return len(b.text) + len(b.literals.text) + len(b.copied) }

// appendMessage appends the text of all statements to a message. For a statement to be prepared it calls name with the
// template, and with whether it is kept always. name returns the name of the prepared statement, or "" for a statement
// that is sent with its literals. If fresh is true, the message prepares the statement first.
func (b *builder) appendMessage(to []byte, name func(template []byte, hot bool) (name string, fresh bool)) []byte {
	var from part
	for i, one := range b.statements() {
		if i > 0 {
			to = append(to, ";\n"...)
		}
		template := b.text[from.text:one.text]
		if one.shards != nil {
			template = one.shards.rename(template)
		}
		prepared, fresh := "", false
		if one.prepare != keepNot && b.template && name != nil {
			prepared, fresh = name(template, one.prepare == keepAlways)
		}
		if prepared == "" {
			to = b.appendLiterals(to, template, from.literals)
		} else {
			if fresh {
				to = appendPrepare(to, prepared, template)
			}
			to = b.appendExecute(to, prepared, from.literals, one.literals)
		}
		from = one
	}
	return to
}

// literal returns the i-th literal.
func (b *builder) literal(i int) []byte {
	begin := 0
	if i > 0 {
		begin = b.literals.ends[i-1]
	}
	return b.literals.text[begin:b.literals.ends[i]]
}

// appendLiterals appends a template with its literals, the first of which is the given one.
func (b *builder) appendLiterals(to, template []byte, first int) []byte {
	return eachMark(to, template, func(to []byte, number int, name string) []byte {
		to = append(to, b.literal(first+number)...)
		if name == "text" || name == "boolean" {
			return to
		}
		return append(append(to, "::"...), name...)
	})
}

func (b *builder) appendExecute(to []byte, name string, from, end int) []byte {
	to = append(append(to, "EXECUTE "...), name...)
	for i := from; i < end; i++ {
		separator := byte(',')
		if i == from {
			separator = '('
		}
		to = append(append(to, separator), b.literal(i)...)
	}
	if end > from {
		to = append(to, ')')
	}
	return to
}

func appendPrepare(to []byte, name string, template []byte) []byte {
	to = append(append(to, "PREPARE "...), name...)
	var types []string
	eachMark(nil, template, func(to []byte, _ int, name string) []byte {
		types = append(types, name)
		return to
	})
	if len(types) > 0 {
		to = append(append(append(to, " ("...), strings.Join(types, ", ")...), ')')
	}
	to = append(to, " AS "...)
	to = eachMark(to, template, func(to []byte, number int, _ string) []byte { return appendParameter(to, number+1) })
	return append(to, ";\n"...)
}

// eachMark appends a template in which replace writes what stands for each mark.
func eachMark(to, template []byte, replace func(to []byte, number int, name string) []byte) []byte {
	for number := 0; ; number++ {
		at := bytes.IndexByte(template, literalMark)
		if at < 0 {
			return append(to, template...)
		}
		to = replace(append(to, template[:at]...), number, literalTypes[template[at+1]])
		template = template[at+2:]
	}
}

// appendParameter appends $1 and so on.
func appendParameter(to []byte, number int) []byte {
	return strconv.AppendInt(append(to, '$'), int64(number), 10)
}
