package console

import (
	_ "embed"
	"encoding/xml"
	"html/template"
	"sync"
)

//go:embed icons.svg
var iconFile []byte

// icons returns the icons by name, as elements of a page. A template with a choice of them took a third of the time of
// a page: it compared the name of each icon with up to 29 others.
var icons = sync.OnceValue(func() map[string]template.HTML {
	var sheet struct {
		Symbols []struct {
			Name    string `xml:"id,attr"`
			Drawing string `xml:",innerxml"` // in a square of 24
		} `xml:"symbol"`
	}
	if err := xml.Unmarshal(iconFile, &sheet); err != nil {
		panic(err) // The file is a part of the program.
	}
	all := map[string]template.HTML{}
	for _, symbol := range sheet.Symbols {
		element := `<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">` + symbol.Drawing + `</svg>`
		all[symbol.Name] = template.HTML(element) //nolint:gosec // The file is a part of the program.
	}
	return all
})

// icon returns an icon by its name. An unknown one is a circle.
func icon(name string) template.HTML {
	if element, ok := icons()[name]; ok {
		return element
	}
	return icons()["none"]
}
