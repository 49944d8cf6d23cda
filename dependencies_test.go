package ticketing_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// TestWhatAHostLinks checks that importing the packages of this module links the modules that "What a host links" in
// docs/design.md names, and nothing that is for tests.
func TestWhatAHostLinks(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves commands of Go out")
	}
	is := is.New(t)
	text, err := os.ReadFile("docs/design.md")
	is.NoErr(err)
	_, section, found := strings.Cut(string(text), "\n## What a host links\n")
	is.True(found)
	section, _, _ = strings.Cut(section, "\n## ")

	var packages, root []string
	documented := make(map[string][]string) // by package
	quoted := regexp.MustCompile("`([^`]+)`")
	name := ""
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || strings.HasPrefix(cells[1], "---") || cells[1] == " importing " {
			continue
		}
		// A row without a package continues the one before.
		if first := strings.Trim(cells[1], " `"); first != "" {
			name = "./" + strings.TrimPrefix(first, "the root")
			packages = append(packages, name)
		}
		for _, module := range quoted.FindAllStringSubmatch(cells[2]+cells[4], -1) {
			documented[name] = append(documented[name], module[1])
		}
	}
	is.Equal(packages, []string{
		"./", "./store", "./store/memory", "./httpapi", "./client", "./embedproxy",
		"./widget", "./console", "./delivery", "./mail",
	})
	root = documented["./"]
	for _, name := range packages {
		// Every host imports the root, too, whose modules the other rows do not repeat.
		want := slices.Concat(root, documented[name])
		slices.Sort(want)
		is.Equal(linked(t, ".", name), slices.Compact(want))
	}
}

// linked returns the other modules that importing the packages links, in order. It fails the test where they link a
// package for tests.
func linked(t *testing.T, packages ...string) []string {
	t.Helper()
	is := is.New(t)
	const form = "{{.ImportPath}} {{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
	list := exec.CommandContext(t.Context(), "go", append([]string{"list", "-deps", "-f", form}, packages...)...)
	// What is linked depends on the system. The table is that of Linux.
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	list.Stderr = t.Output()
	text, err := list.Output()
	is.NoErr(err)
	var modules []string
	forTests := regexp.MustCompile(`^testing$|/ticketing/(cmd|examples|ticketingtest|internal/bench)\b`)
	for line := range strings.Lines(string(text)) {
		path, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		if forTests.MatchString(path) {
			t.Errorf("%v link %s", packages, path)
		}
		if module != "" && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	return modules
}
