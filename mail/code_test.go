package mail_test

import (
	"bytes"
	"image"
	gocolor "image/color"
	"image/png"
	"testing"

	"github.com/google/uuid"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/mail"
)

// The measures of a picture, by the standard: four white modules around a code of version 4.
const (
	codeModules  = 33
	quietModules = 4
	modulePixels = 8
)

// codesOf renders tickets with the ids and returns each picture with the code that it must show.
func codesOf(is *is.I, renderer *mail.Renderer, event uuid.UUID, admissions ...uuid.UUID) map[string][]byte {
	is.Helper()
	tickets := lagosMail(seats(len(admissions), "Lagos Jazz Night", "VIP", 1)...)
	tickets.Order.EventID = event
	for i, id := range admissions {
		tickets.Order.Lines[i].AdmissionID = id
	}
	made := render(is, renderer, tickets)
	is.Equal(len(made.Inline), len(admissions))
	codes := make(map[string][]byte)
	for i, file := range made.Inline {
		is.Equal(file.ContentType, "image/png")
		codes[ticketing.FormatAdmissionCode(event, admissions[i])] = file.Data
	}
	return codes
}

// drawID draws a UUID of version 4.
func drawID(t *rapid.T, label string) uuid.UUID {
	id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	id[6], id[8] = id[6]&0x0F|0x40, id[8]&0x3F|0x80
	return id
}

func TestAReaderThatIsNotOursReadsEveryCode(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	// A hint says that the picture is no photograph. Its search for a code in one takes other modules for the
	// corners in about one of 700 codes, also in those that ZXing itself encodes.
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true}
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		for code, data := range codesOf(is, renderer, drawID(t, "event"), drawID(t, "admission")) {
			picture, err := png.Decode(bytes.NewReader(data))
			is.NoErr(err)
			bitmap, err := gozxing.NewBinaryBitmapFromImage(picture)
			is.NoErr(err)
			read, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
			is.NoErr(err)
			is.Equal(read.GetText(), code)
			is.Equal(read.GetResultMetadata()[gozxing.ResultMetadataType_ERROR_CORRECTION_LEVEL], "M")
		}
	})
}

// TestACodeIsThatOfZXing compares all modules with those of an independent encoder, so the mode, the level and the mask
// are those that the standard requires.
func TestACodeIsThatOfZXing(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		for code, data := range codesOf(is, renderer, drawID(t, "event"), drawID(t, "admission")) {
			want, exception := encoder.Encoder_encode(code, decoder.ErrorCorrectionLevel_M, nil)
			is.True(exception == nil)
			is.Equal(want.GetMode(), decoder.Mode_ALPHANUMERIC)
			is.Equal(want.GetMatrix().GetWidth(), codeModules)
			picture, err := png.Decode(bytes.NewReader(data))
			is.NoErr(err)
			for y := range codeModules {
				for x := range codeModules {
					is.Equal(black(picture, x+quietModules, y+quietModules), want.GetMatrix().Get(x, y) == 1)
				}
			}
		}
	})
}

// black reports whether a module of a picture is black.
func black(picture image.Image, x, y int) bool {
	return picture.At(x*modulePixels, y*modulePixels) == gocolor.Gray{}
}

func TestAPictureIsSmallAndHasAQuietZone(t *testing.T) {
	t.Parallel()
	race.Leave(t, "the pixels of pictures")
	is := is.New(t)
	var admissions []uuid.UUID
	for i := range uint64(50) {
		admissions = append(admissions, fixtureID(i))
	}
	for _, data := range codesOf(is, mail.NewRenderer(), fixtureID(99), admissions...) {
		is.True(len(data) <= 1024)
		picture, err := png.Decode(bytes.NewReader(data))
		is.NoErr(err)
		const modules = codeModules + 2*quietModules
		is.Equal(picture.Bounds(), image.Rect(0, 0, modules*modulePixels, modules*modulePixels))
		wrong := 0
		for y := range modules * modulePixels {
			for x := range modules * modulePixels {
				want := gocolor.Gray{Y: 0xFF}
				column, row := x/modulePixels-quietModules, y/modulePixels-quietModules
				inside := min(column, row) >= 0 && max(column, row) < codeModules
				if inside && black(picture, x/modulePixels, y/modulePixels) {
					want = gocolor.Gray{}
				}
				if picture.At(x, y) != want {
					wrong++
				}
			}
		}
		is.Equal(wrong, 0) // Modules are squares of black or white, and all around them is white.
	}
}
