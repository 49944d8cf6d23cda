package mail

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"rsc.io/qr/coding"
)

// The picture of a code. Each module is a square of modulePixels pixels, so that a row of the picture has one byte for
// each module. The quiet zone is that of the standard (ISO/IEC 18004). It is part of the picture, so that it is white
// in dark mode, too.
const (
	codeVersion  = coding.Version(4) // 33 modules, up to 90 alphanumeric characters at level M
	codeModules  = 33
	quietModules = 4
	modulePixels = 8
	codePixels   = (codeModules + 2*quietModules) * modulePixels
)

// codeEncoder draws the QR codes of admissions. It may be used by one goroutine at a time.
//
// It writes the PNG itself: image/png takes 0.7 ms for the hundred thousand pixels of a picture, and most rows of it
// repeat the row before.
type codeEncoder struct {
	plan *coding.Plan // of the first mask
	// masks are the modules that differ between a code with another mask and the code with the first one. They are the
	// same for every text, since a mask inverts modules by their position alone.
	masks [8]modules
	zlib  *zlib.Writer
	rows  bytes.Buffer
}

// newCodeEncoder returns an encoder. It fails only if the version or the level of the code does not exist.
func newCodeEncoder() (*codeEncoder, error) {
	e := &codeEncoder{}
	var first modules
	for mask := range e.masks {
		plan, err := coding.NewPlan(codeVersion, coding.M, coding.Mask(mask))
		if err != nil {
			return nil, fmt.Errorf("mail: plan the code: %w", err)
		}
		code, err := plan.Encode()
		if err != nil {
			return nil, fmt.Errorf("mail: plan the code: %w", err)
		}
		if e.masks[mask] = modulesOf(code); mask == 0 {
			e.plan, first = plan, e.masks[0]
		}
		e.masks[mask].invert(&first)
	}
	// Level 4 is the fastest that finds most of the repeated rows: a picture has 400 bytes. Level 3 makes 700, and
	// level 6 takes three times as long.
	var err error
	e.zlib, err = zlib.NewWriterLevel(&e.rows, 4)
	return e, err
}

// encode returns the picture of an admission's code as PNG: black on white, 328 pixels wide.
func (e *codeEncoder) encode(text string) ([]byte, error) {
	code, err := e.plan.Encode(coding.Alpha(text))
	if err != nil {
		return nil, fmt.Errorf("mail: encode the code of an admission: %w", err)
	}
	plain := modulesOf(code)
	var best modules
	least := -1
	for i := range e.masks {
		masked := plain
		masked.invert(&e.masks[i])
		if penalty := masked.penalty(); least < 0 || penalty < least {
			best, least = masked, penalty
		}
	}
	return e.png(&best)
}

// png returns the modules as a PNG of one bit a pixel.
func (e *codeEncoder) png(m *modules) ([]byte, error) {
	e.rows.Reset()
	e.zlib.Reset(&e.rows)
	const width = codePixels / 8 // bytes of a row
	var row [1 + width]byte      // the first byte is the row's filter, none
	for y := -quietModules; y < codeModules+quietModules; y++ {
		for x := range width {
			row[1+x] = 0xFF
			if m.black(x-quietModules, y) {
				row[1+x] = 0
			}
		}
		for range modulePixels {
			if _, err := e.zlib.Write(row[:]); err != nil {
				return nil, err
			}
		}
	}
	if err := e.zlib.Close(); err != nil {
		return nil, err
	}
	header := binary.BigEndian.AppendUint32(nil, codePixels)
	header = binary.BigEndian.AppendUint32(header, codePixels)
	header = append(header, 1, 0, 0, 0, 0) // one bit of grey, deflate, no filter but each row's, not interlaced

	picture := []byte("\x89PNG\r\n\x1a\n")
	picture = appendChunk(picture, "IHDR", header)
	picture = appendChunk(picture, "IDAT", e.rows.Bytes())
	return appendChunk(picture, "IEND", nil), nil
}

// appendChunk appends a chunk of a PNG: its length, its type, its data and the checksum of both.
func appendChunk(picture []byte, kind string, data []byte) []byte {
	picture = binary.BigEndian.AppendUint32(picture, uint32(len(data))) //nolint:gosec // A chunk has less than 1 KB.
	begin := len(picture)
	picture = append(append(picture, kind...), data...)
	return binary.BigEndian.AppendUint32(picture, crc32.ChecksumIEEE(picture[begin:]))
}

// modules are those of a code, row by row: bit x of a row is set if the module is black.
type modules [codeModules]uint64

// modulesOf returns the modules of a code.
func modulesOf(code *coding.Code) modules {
	var m modules
	for y := range m {
		for x := range codeModules {
			if code.Black(x, y) {
				m[y] |= 1 << x
			}
		}
	}
	return m
}

// invert inverts the modules that are black in the other.
func (m *modules) invert(other *modules) {
	for y := range m {
		m[y] ^= other[y]
	}
}

// black reports whether the module is black. All modules outside of the code are white.
func (m *modules) black(x, y int) bool {
	return 0 <= y && y < codeModules && 0 <= x && x < codeModules && m[y]&(1<<x) != 0
}

// penalty returns how hard the code is to read, as the standard counts it: runs of five modules or more, blocks of
// four, what looks like a finder pattern, and too much of one colour. The mask with the lowest penalty is used.
func (m *modules) penalty() int {
	var columns modules
	black := 0
	for y, row := range m {
		black += bits.OnesCount64(row)
		for x := range columns {
			columns[x] |= row >> x & 1 << y
		}
	}
	sum := 0
	for i := range m {
		sum += linePenalty(m[i]) + linePenalty(columns[i])
		if i > 0 {
			// A module is the corner of a block if it equals its neighbours to the right, above, and both above.
			same := ^(m[i] ^ m[i-1])
			right := ^(m[i] ^ m[i]>>1)
			sum += 3 * bits.OnesCount64(same&(same>>1)&right&(1<<(codeModules-1)-1))
		}
	}
	// Ten for each five percent that the share of black modules differs from a half.
	const all = codeModules * codeModules
	away := 2*black - all
	return sum + 10*(max(away, -away)*10/all)
}

// linePenalty returns the penalty of one row or column. Each step computes all places of the line at once.
func linePenalty(line uint64) int {
	const places = 1<<codeModules - 1
	// Five modules from a place on are equal: a run of n has n-4 of such places. It costs 3 for its fifth module, and 1
	// for each after it.
	same := ^(line ^ line>>1) & (places >> 1)
	runs := same & (same >> 1) & (same >> 2) & (same >> 3)
	sum := bits.OnesCount64(runs) + 2*bits.OnesCount64(runs&^(runs<<1))

	// What looks like a finder pattern is 1:1:3:1:1, with four white modules before or after it. The quiet zone counts.
	line <<= quietModules
	white := ^line
	finders := line & (white >> 1) & (line >> 2) & (line >> 3) & (line >> 4) & (white >> 5) & (line >> 6)
	four := white & (white >> 1) & (white >> 2) & (white >> 3)
	return sum + 40*bits.OnesCount64(finders&(four>>7|four<<4))
}
