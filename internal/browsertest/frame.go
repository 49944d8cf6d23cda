package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a page may take to show what a test looks for.
const patience = 30 * time.Second

// pause is how long a test waits between two attempts.
const pause = 20 * time.Millisecond

// Frame is a document of a page: its own, or that of a frame in it, of any origin.
type Frame struct {
	page  *Page
	id    cdp.FrameID            // "": the page's own document
	owner runtime.RemoteObjectID // the element of the frame
}

// contextOf is Chromium's description of the context of a script.
type contextOf struct {
	Frame     cdp.FrameID `json:"frameId"`
	IsDefault bool        `json:"isDefault"`
}

// Frame returns the frame of an element that a JavaScript expression in this document finds, once it is there and has a
// document.
func (f Frame) Frame(element string) Frame {
	f.page.tb.Helper()
	found := f.Element(element)
	node, err := chromedp.Call(f.page.ctx, dom.DescribeNode, dom.DescribeNodeParams{ObjectID: found.id})
	f.page.must(err)
	if node.Node.FrameID == "" {
		f.page.tb.Fatalf("%s is no frame", element)
	}
	return Frame{page: f.page, id: node.Node.FrameID, owner: found.id}
}

// Text returns the value of a JavaScript expression in the document, as text. The expression may use await.
func (f Frame) Text(expression string) string {
	f.page.tb.Helper()
	return evaluate[string](f, "(async () => String("+expression+"))()")
}

// Wait waits until a JavaScript expression in the document is true.
func (f Frame) Wait(condition string) {
	f.page.tb.Helper()
	f.page.poll(condition, func() bool {
		result, err := f.run("(async () => Boolean("+condition+"))()", true)
		return err == nil && string(result.Value) == "true"
	})
}

// Element waits for the element that a JavaScript expression in the document finds. The element may be in a shadow
// tree.
func (f Frame) Element(expression string) Element {
	f.page.tb.Helper()
	var found runtime.RemoteObjectID
	f.page.poll("there is no "+expression, func() bool {
		result, err := f.run("(async () => ("+expression+"))()", false)
		if err == nil {
			found = result.ObjectID
		}
		return found != ""
	})
	return Element{frame: f, id: found, name: expression}
}

// Role waits for an element with a role and a name of the accessibility tree, which includes shadow trees. The name is
// a regular expression. If more than one is found, it is the first in the order of the tree.
func (f Frame) Role(role, name string) Element {
	f.page.tb.Helper()
	var found Element
	f.page.poll("there is no "+role+" "+name, func() bool {
		all := f.roles(role, name)
		if len(all) > 0 {
			found = all[0]
		}
		return len(all) > 0
	})
	return found
}

// Roles returns the names of the elements that have a role now, in the order of the accessibility tree.
func (f Frame) Roles(role string) []string {
	f.page.tb.Helper()
	names := []string{}
	for _, element := range f.roles(role, "") {
		names = append(names, element.name)
	}
	return names
}

// roles returns the elements with a role and a name in their current state: none while the document is being replaced.
func (f Frame) roles(role, name string) []Element {
	matches := regexp.MustCompile(name)
	ctx, expire := context.WithTimeout(f.page.ctx, patience)
	defer expire()
	if f.id != "" {
		// Chromium keeps no accessibility tree of a frame of another origin that is out of view.
		_, err := chromedp.Call(ctx, dom.ScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{ObjectID: f.owner})
		if err != nil {
			return nil
		}
	}
	root, err := f.run("document", false)
	if err != nil {
		return nil
	}
	tree, err := chromedp.Call(ctx, accessibility.QueryAXTree, accessibility.QueryAXTreeParams{
		ObjectID: root.ObjectID, Role: role,
	})
	if err != nil {
		return nil
	}
	var found []Element
	for _, node := range tree.Nodes {
		if node.Ignored || node.BackendDOMNodeID == 0 {
			continue
		}
		named := ""
		if node.Name != nil {
			_ = json.Unmarshal(node.Name.Value, &named) // The value of a name is a text.
		}
		if !matches.MatchString(named) {
			continue
		}
		object, err := chromedp.Call(ctx, dom.ResolveNode, dom.ResolveNodeParams{
			BackendNodeID: node.BackendDOMNodeID,
		})
		if err != nil {
			return nil
		}
		found = append(found, Element{frame: f, id: object.Object.ObjectID, name: named})
	}
	return found
}

// showsFocus reports whether the focus of an element is visible: the element, a pseudo-element of it, or a box around
// it has an outline.
const showsFocus = `(() => {
	const outlined = (element, part) => getComputedStyle(element, part).outlineStyle !== "none"
	if (getComputedStyle(this).boxShadow !== "none" || outlined(this, "::before") || outlined(this, "::after")) return true
	for (let e = this; e !== null; e = e.parentElement) if (outlined(e)) return true
	return false
})()`

// TabToRole presses Tab until the element with a role and a name has the focus, like a user without a mouse. It checks
// that the focus is visible.
func (f Frame) TabToRole(role, name string) Element {
	f.page.tb.Helper()
	for range 60 {
		element := f.Role(role, name)
		if element.hasFocus() {
			if element.Text(showsFocus) != "true" {
				f.page.tb.Fatalf("%s %s has the focus and does not show it", role, name)
			}
			return element
		}
		f.page.Press("\t")
	}
	f.page.tb.Fatalf("%s %s is not reached by Tab", role, name)
	return Element{}
}

// evaluate returns the value of the promise that a JavaScript expression makes. It works even under a
// Content-Security-Policy.
func evaluate[T any](f Frame, expression string) T {
	f.page.tb.Helper()
	var value T
	result, err := f.run(expression, true)
	f.page.must(err)
	if len(result.Value) > 0 {
		f.page.must(json.Unmarshal(result.Value, &value))
	}
	return value
}

// errNoDocument is the error of a frame whose document is being replaced.
var errNoDocument = errors.New("the frame has no document now")

// run evaluates an expression, which may be a promise, in the world of the document's own scripts.
func (f Frame) run(expression string, byValue bool) (*runtime.RemoteObject, error) {
	params := runtime.EvaluateParams{Expression: expression, AwaitPromise: new(true), ReturnByValue: &byValue}
	if f.id != "" {
		f.page.mu.Lock()
		params.ContextID = f.page.contexts[f.id]
		f.page.mu.Unlock()
		if params.ContextID == 0 {
			return nil, errNoDocument
		}
	}
	ctx, expire := context.WithTimeout(f.page.ctx, time.Minute)
	defer expire()
	result, err := chromedp.Call(ctx, runtime.Evaluate, params)
	if err != nil {
		return nil, err
	}
	return result.Result, thrown(result.ExceptionDetails)
}

// thrown returns the exception of a script as an error.
func thrown(details *runtime.ExceptionDetails) error {
	if details == nil {
		return nil
	}
	text := []string{details.Text}
	if details.Exception != nil {
		text = append(text, details.Exception.Description, string(details.Exception.Value))
	}
	return errors.New(strings.Join(text, " "))
}

// poll waits until ok reports true.
func (p *Page) poll(what string, ok func() bool) {
	p.tb.Helper()
	ctx, expire := context.WithTimeout(p.ctx, patience)
	defer expire()
	look := time.NewTicker(pause)
	defer look.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			p.failed(what)
		case <-look.C:
		}
	}
}

// failed fails the test, with a picture of the page and the messages of its console.
func (p *Page) failed(what string) {
	p.tb.Helper()
	p.Picture("failed")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tb.Fatalf("waited in vain: %s\nin its console:\n%s", what, strings.Join(p.messages, "\n"))
}
