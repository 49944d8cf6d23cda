package mail_test

import (
	"context"
	"strings"

	"github.com/matryer/is"
	"golang.org/x/net/html"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// render returns the mail of the tickets.
func render(is *is.I, renderer *mail.Renderer, tickets ticketing.TicketMail) ticketing.Mail {
	is.Helper()
	made, err := renderer.RenderTickets(context.Background(), tickets)
	is.NoErr(err)
	return made
}

// parseHTML returns the document of a mail's HTML.
func parseHTML(is *is.I, text string) *html.Node {
	is.Helper()
	document, err := html.Parse(strings.NewReader(text))
	is.NoErr(err)
	return document
}

// attribute returns an attribute of an element; empty: it has none.
func attribute(node *html.Node, name string) string {
	for _, attribute := range node.Attr {
		if attribute.Key == name {
			return attribute.Val
		}
	}
	return ""
}

// textOf returns the text of a document, without that of style sheets. White space is one space.
func textOf(document *html.Node) string {
	var text strings.Builder
	for node := range document.Descendants() {
		if node.Type == html.TextNode && node.Parent.Data != "style" {
			text.WriteString(node.Data + " ")
		}
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// outline returns the markup of a document: the elements and their attributes, with the values of those that no text of
// an order gets into.
func outline(document *html.Node) string {
	var outline strings.Builder
	for node := range document.Descendants() {
		switch node.Type {
		case html.ElementNode:
			outline.WriteString("<" + node.Data)
			for _, attribute := range node.Attr {
				outline.WriteString(" " + attribute.Key)
				if attribute.Key != "alt" && attribute.Key != "href" && attribute.Key != "src" {
					outline.WriteString("=" + attribute.Val)
				}
			}
			outline.WriteString(">")
		case html.CommentNode, html.DoctypeNode, html.RawNode:
			outline.WriteString("<!" + node.Data + ">")
		case html.TextNode:
			if node.Parent.Data == "style" {
				outline.WriteString(node.Data)
			}
		case html.DocumentNode, html.ErrorNode:
		}
	}
	return outline.String()
}
