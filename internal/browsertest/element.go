package browsertest

import (
	"encoding/json"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Element is an element of a document, which may be in a shadow tree.
type Element struct {
	frame Frame
	id    runtime.RemoteObjectID
	name  string
}

// Name returns the element's name in the accessibility tree, or the expression that found it.
func (e Element) Name() string { return e.name }

// Text returns the value of a JavaScript expression, in which this is the element, as text. The expression may use
// await.
func (e Element) Text(expression string) string {
	e.frame.page.tb.Helper()
	text, err := e.call(expression)
	e.frame.page.must(err)
	return text
}

func (e Element) call(expression string) (text string, err error) {
	result, err := chromedp.Call(e.frame.page.ctx, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: "async function() { return String(" + expression + ") }", ObjectID: e.id,
		AwaitPromise: new(true), ReturnByValue: new(true),
	})
	if err != nil {
		return "", err
	}
	if err := thrown(result.ExceptionDetails); err != nil {
		return "", err
	}
	return text, json.Unmarshal(result.Result.Value, &text)
}

// Element waits for the element that a JavaScript expression finds, in which this is the element.
func (e Element) Element(expression string) Element {
	e.frame.page.tb.Helper()
	found := Element{frame: e.frame, name: expression}
	e.frame.page.poll("there is no "+expression, func() bool {
		result, err := chromedp.Call(e.frame.page.ctx, runtime.CallFunctionOn, runtime.CallFunctionOnParams{
			FunctionDeclaration: "function() { return " + expression + " }", ObjectID: e.id,
		})
		if err == nil && result.ExceptionDetails == nil {
			found.id = result.Result.ObjectID
		}
		return found.id != ""
	})
	return found
}

// Click scrolls to the element, and clicks on its middle with a mouse, or taps it on a phone. It fails the test if
// something covers the element there. It does not wait for the effect of the click.
func (e Element) Click() { e.click(1) }

// DoubleClick clicks twice as fast as the browser can.
func (e Element) DoubleClick() { e.click(2) }

func (e Element) click(times int) {
	p := e.frame.page
	p.tb.Helper()
	_, err := chromedp.Call(p.ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{ObjectID: e.id})
	p.must(err)
	if covered := e.Text(`(() => {
		const { left, top, width, height } = this.getBoundingClientRect()
		const root = this.getRootNode()
		const hit = root.elementFromPoint(left + width / 2, top + height / 2)
		return hit === null || this.contains(hit) || hit.contains(this) || hit.control === this ? "" : hit.outerHTML
	})()`); covered != "" {
		p.tb.Fatalf("%s is covered by %s", e.name, clip(covered))
	}
	quads, err := chromedp.Call(p.ctx, dom.GetContentQuads, dom.GetContentQuadsParams{ObjectID: e.id})
	p.must(err)
	if len(quads.Quads) == 0 || len(quads.Quads[0]) != 8 {
		p.tb.Fatalf("%s is not visible", e.name)
	}
	corners := quads.Quads[0]
	x, y := (corners[0]+corners[4])/2, (corners[1]+corners[5])/2
	for range times {
		if p.touch {
			p.Do(chromedp.TapXY(x, y))
		} else {
			p.Do(chromedp.MouseClickXY(x, y))
		}
	}
}

// Type clicks on the element and replaces its text with the typed one.
func (e Element) Type(text string) {
	e.frame.page.tb.Helper()
	e.Click()
	e.frame.page.poll(e.name+" does not get the focus", e.hasFocus)
	e.Text(`this.select?.()`)
	e.frame.page.Press(text)
}

// hasFocus reports whether keys go to the element.
func (e Element) hasFocus() bool {
	has, err := e.call(`this.getRootNode().activeElement === this && this.ownerDocument.hasFocus()`)
	return err == nil && has == "true"
}
