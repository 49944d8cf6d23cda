package widget_test

import (
	"bytes"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// A reader that is not ours reads the code of every admission from a picture of the page, in the dark, too. The text of
// the code is below it.
func testCodes(t *testing.T, browser browsertest.Browser) {
	is := is.New(t)
	const admissions = 50
	var ids []uuid.UUID
	s := newShop(t, page{}, func(c call, _ int) answer {
		if c.Operation != "checkout.create" {
			return answer{}
		}
		bought := order(c.Payload)
		for _, line := range bought["lines"].([]object) {
			ids = append(ids, uuid.New())
			line["admissionId"] = ids[len(ids)-1].String()
		}
		return answer{Envelope: envelope(bought)}
	})
	p := s.openEvent(t, browser, browsertest.Size{Width: 700, Height: 320})
	p.Media(browsertest.Media{Dark: true})
	p.Text(fmt.Sprintf(`enter("[aria-label='Quantity: General admission']", %d)`, admissions))
	press(p, "Continue")
	wait(p, "Your details")
	p.Text(`enter("#svc-email", "ada@example.com")`)
	press(p, "Buy for")
	wait(p, "Your order is confirmed")
	is.Equal(len(ids), admissions)
	p.Text(`await until(() => $$(".code path").every(path => path.getAttribute("d")))`)
	is.Equal(p.Text(`$(".code").getAttribute("aria-label")`), "QR code of ticket 1 of 50")
	shown := strings.Split(p.Text(`$$(".ticket .mono").map(e => e.innerText)`), ",")
	is.Equal(len(shown), admissions)
	for i, id := range ids {
		ticket := fmt.Sprintf(`$$(".ticket")[%d]`, i)
		want := ticketing.FormatAdmissionCode(uuid.MustParse(jazz), id)
		is.Equal(shown[i], want)
		if i%7 > 0 {
			continue // A picture of the window takes long.
		}
		p.Text(ticket + `.scrollIntoView({ block: "center" })`)
		picture, err := png.Decode(bytes.NewReader(p.Screenshot()))
		is.NoErr(err)
		var x, y, width int
		_, err = fmt.Sscan(p.Text(`(r => [r.x, r.y, r.width].map(Math.round).join(" "))(`+ticket+
			`.querySelector(".code").getBoundingClientRect())`), &x, &y, &width)
		is.NoErr(err)
		const corner = 8 // is round, so that what is around the code shows
		code := image.NewRGBA(image.Rect(0, 0, width-2*corner, width-2*corner))
		draw.Draw(code, code.Bounds(), picture, image.Pt(x+corner, y+corner), draw.Src)
		bitmap, err := gozxing.NewBinaryBitmapFromImage(code)
		is.NoErr(err)
		// A hint says that the picture is no photograph: a search for a code in one does not find every code.
		hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_PURE_BARCODE: true}
		read, err := qrcode.NewQRCodeReader().Decode(bitmap, hints)
		is.NoErr(err)
		is.Equal(read.GetText(), want)
	}
}
