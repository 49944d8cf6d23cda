package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/floatgate/ticketing/mail"
)

// program is one run of the command line.
type program struct {
	*flags

	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer

	resolver mail.Resolver // looks up a domain's records; nil: that of the machine
}

// flags are the flags that every command has.
type flags struct {
	Database  string `default:"sqlite:ticketing.db" group:"all" help:"Where everything is kept: sqlite:PATH, postgres://USER:PASSWORD@HOST/NAME, or memory: (demo, serve and bench only), gone at exit. Give a URL with a password as TICKETING_DATABASE: others can see a command line." placeholder:"URL"`
	SecretKey string `group:"all" help:"Master secret: 32 bytes or more, in hex or base64. Of several, separated by commas, the first makes digests and all verify them. With SQLite it is made on first use and kept in PATH.key; with PostgreSQL it must be given. Give it as TICKETING_SECRET_KEY: others can see a command line." placeholder:"KEY"`
	Actor     claim  `group:"all" help:"Who you are, 1 to 64 characters. The audit log keeps it as a claim, beside the user of the operating system and the host." placeholder:"TEXT"`
	JSON      bool   `group:"all" help:"Print exactly one JSON value." name:"json" xor:"output"`
	Quiet     bool   `group:"all" help:"Print only ids, one on each line, and nothing about what has no id. Instead of the id, a new API key, signing secret or sign-in link is printed, since it is shown only once." short:"q" xor:"output"`
}

// commands is the grammar of the command line.
type commands struct {
	flags

	Demo    demoCommand    `cmd:"" group:"serve" help:"Serve a company that is ready to sell, and sell one ticket."`
	Serve   serveCommand   `cmd:"" group:"serve" help:"Serve the public API."`
	Migrate migrateCommand `cmd:"" group:"serve" help:"Bring the tables of the database up to date."`
	Bench   benchCommand   `cmd:"" group:"serve" help:"Measure how fast this machine sells, and verify the books."`
	Embed   embedCommands  `cmd:"" group:"serve" help:"Print how a website sells with the embed SDK."`
	Version versionCommand `cmd:"" group:"serve" help:"Print version, commit and Go version."`

	Company      companyCommands      `cmd:"" group:"operate" help:"Create, list, rename, suspend and activate companies."`
	Member       memberCommands       `cmd:"" group:"operate" help:"Run who acts for a company, and as what."`
	KYB          kybCommands          `cmd:"" group:"operate" help:"Edit, submit and decide the verification of companies." name:"kyb"`
	Branding     brandingCommands     `cmd:"" group:"operate" help:"Set how a company looks to its buyers."`
	Commission   commissionCommands   `cmd:"" group:"operate" help:"Schedule what a company earns."`
	Float        floatCommands        `cmd:"" group:"operate" help:"Fund a company's FLOAT."`
	Wallet       walletCommands       `cmd:"" group:"operate" help:"Show, suspend and activate wallets."`
	Ledger       ledgerCommands       `cmd:"" group:"operate" help:"List, verify and export the movements of wallets."`
	Key          keyCommands          `cmd:"" group:"operate" help:"Issue, rotate, revoke and list API keys."`
	Webhook      webhookCommands      `cmd:"" group:"operate" help:"Tell a company's systems what happens: endpoints, deliveries, replay, and a relay for developers."`
	MailSender   mailSenderCommands   `cmd:"" group:"operate" help:"Set from whom the ticket mails come, and check and try it." name:"mail-sender"`
	Notification notificationCommands `cmd:"" group:"operate" help:"See what became of ticket mails, and send them again."`
	BankAccount  bankAccountCommands  `cmd:"" group:"operate" help:"Set where a company's earnings are paid out to." name:"bank-account"`
	Settlement   settlementCommands   `cmd:"" group:"operate" help:"Request, approve and reject payouts of EARNINGS."`
	Order        orderCommands        `cmd:"" group:"operate" help:"Find, refund and cancel orders."`
	Category     categoryCommands     `cmd:"" group:"operate" help:"Run the platform-wide categories of events."`
	Buyer        buyerCommands        `cmd:"" group:"operate" help:"Show a buyer, or erase one on request."`
	Event        eventCommands        `cmd:"" group:"operate" help:"End events."`
	Proxy        proxyCommands        `cmd:"" group:"operate" help:"Check the proxy of a shop in a browser."`
	Staff        staffCommands        `cmd:"" group:"operate" help:"Run who works for the platform, and as what."`
	User         userCommands         `cmd:"" group:"operate" help:"Let people sign in to the console, see them, and sign them out."`
	Stats        statsCommands        `cmd:"" group:"operate" help:"Compute the sums of sales from the orders."`
	Audit        auditCommands        `cmd:"" group:"operate" help:"List what operators did."`
}

const description = `A prepaid-float ticketing service: companies prepay, sell tickets through the public API, ` +
	`and earn a commission.`

// Help returns the text that follows the description in the help of the program.
func (*commands) Help() string {
	return `Begin with

    ticketing demo

or, for a company of your own,

    ticketing company create --name 'Lagos Live'
    ticketing kyb approve COMPANY
    ticketing commission schedule COMPANY --value 250 --unit BASIS_POINTS
    ticketing float credit COMPANY --amount 1000000.00 --reference settlement-0001
    ticketing key issue COMPANY --name storefront --all-grants
    ticketing serve

COMPANY, EVENT, KEY and the like are ids, as the commands print them. TIME is 2026-12-31T18:00:00+01:00, or ` +
		`2026-12-31 for the beginning of that day in UTC.

Every flag can be given as an environment variable: --web-origin as TICKETING_WEB_ORIGIN. Commands work while a ` +
		`server runs on the same database. Where there is none, demo, serve, migrate and company create make it.`
}

// run parses the arguments and runs the command they name.
func (p *program) run(ctx context.Context, args []string) error {
	// Until the arguments are parsed, errors are printed in the format that they seem to request.
	p.flags = &flags{JSON: asksForJSON(args, p.getenv)}
	for i, arg := range args {
		if !utf8.ValidString(arg) {
			return badValue("argument %d is not valid UTF-8", i+1)
		}
	}

	helped := false
	var help bytes.Buffer
	line := commands{}
	parser, err := grammar(&line,
		kong.Writers(&help, p.stderr),
		kong.Exit(func(int) { helped = true }),
		kong.Resolvers(p.environment()),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(p),
	)
	if err != nil {
		return fmt.Errorf("command line: %w", err)
	}
	if len(args) == 0 {
		_, _ = parser.Parse([]string{"--help"})
		_, _ = io.WriteString(p.stderr, formatParserText(help.String()))
		return errNoCommand
	}
	parsed, err := parser.Parse(joinNegativeValues(parser.Model.Node, args))
	if helped {
		_, err := io.WriteString(p.stdout, formatParserText(help.String()))
		return outputError(err)
	}
	if err != nil {
		return wrongCall(err)
	}
	p.flags = &line.flags
	if err := p.refuseUnconfirmed(parsed.Selected()); err != nil {
		return err
	}
	return parsed.Run()
}

// grammar returns the parser of a command line.
func grammar(line *commands, options ...kong.Option) (*kong.Kong, error) {
	return kong.New(line, append(options,
		kong.Name("ticketing"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "serve", Title: "Serving:"},
			{Key: "operate", Title: "Operating:"},
			{Key: "all", Title: "Flags of every command:"},
		}),
		kong.ValueFormatter(withDefault),
		kong.KindMapper(reflect.Bool, boolMapper{}),
	)...)
}

// joinNegativeValues makes "--flag -5" one word, "--flag=-5". The parser takes every word with a leading hyphen for a
// flag and would report a usage error. A next word that begins with two hyphens, or is itself a flag, is not joined:
// there the value is missing.
func joinNegativeValues(program *kong.Node, args []string) []string {
	valued, short := map[string]bool{}, map[string]bool{}
	_ = kong.Visit(program, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			valued["--"+flag.Name] = !flag.IsBool()
			if flag.Short != 0 {
				short["-"+string(flag.Short)] = true
			}
		}
		return next(nil)
	})
	words := make([]string, 0, len(args))
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			return append(words, args[i:]...)
		}
		if valued[word] && i+1 < len(args) {
			i++
			value := args[i]
			if len(value) < 2 || value[0] != '-' || value[1] == '-' || short[value] {
				words = append(words, word)
				word = value
			} else {
				word += "=" + value
			}
		}
		words = append(words, word)
	}
	return words
}

// placeholder matches an argument as the parser prints it.
var placeholder = regexp.MustCompile(
	"<(company|key|event|category|settlement|order|user|email|endpoint|delivery|type)>",
)

// strayWord matches the parser's error about an unexpected word with digits. The word may be a bank account number, in
// any spelling, and must not be repeated.
var strayWord = regexp.MustCompile(`(?s)unexpected argument .*\p{Nd}.*?(, did you mean .*)?$`)

// formatParserText returns a text of the parser with arguments and alternatives written as in the examples.
func formatParserText(text string) string {
	text = placeholder.ReplaceAllStringFunc(text, func(name string) string {
		return strings.ToUpper(strings.Trim(name, "<>"))
	})
	return strings.Replace(text, "--grants=GRANT,... --all-grants", "(--grants=GRANT,... | --all-grants)", 1)
}

// withDefault returns the help of a flag, followed by its default if it has one.
func withDefault(value *kong.Value) string {
	if value.HasDefault && value.Default != "" {
		return value.Help + " Default: " + value.Default + "."
	}
	return value.Help
}

// environment returns a resolver for flags that are not on the command line. It takes a flag's value from its
// environment variable.
func (p *program) environment() kong.Resolver {
	return kong.ResolverFunc(func(line *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Name == "help" {
			return nil, nil
		}
		value := p.getenv(variable(flag.Name))
		if value == "" || isExcluded(line, flag) {
			return nil, nil
		}
		if !utf8.ValidString(value) {
			return nil, badValue("the variable %s is not valid UTF-8", variable(flag.Name))
		}
		return value, nil
	})
}

// isExcluded reports whether the command line has a flag that excludes this one. The command line takes precedence over
// the environment.
func isExcluded(line *kong.Context, flag *kong.Flag) bool {
	return slices.ContainsFunc(line.Path, func(given *kong.Path) bool {
		return given.Flag != nil && !given.Resolved && slices.ContainsFunc(given.Flag.Xor, func(group string) bool {
			return slices.Contains(flag.Xor, group)
		})
	})
}

// variable returns the name of a flag's environment variable.
func variable(flag string) string {
	return "TICKETING_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// asksForJSON reports whether --json is among arguments that may not even parse.
func asksForJSON(args []string, getenv func(string) string) bool {
	asked, _ := parseBool(getenv(variable("json")))
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--json" {
			asked = true
		}
		if value, ok := strings.CutPrefix(arg, "--json="); ok {
			asked, _ = parseBool(value)
		}
	}
	return asked
}

// usageError is an error in how the program was called: exit status 2.
type usageError struct {
	text string
	code string // Defaults to INVALID_REQUEST.
}

func (e *usageError) Error() string { return e.text }

// errNoCommand has no text, since the help was printed instead.
var errNoCommand = &usageError{}

// wrongCall converts an error of the parser to a bad value or a usage error.
func wrongCall(err error) error {
	if _, ok := errors.AsType[*valueError](err); ok {
		return &valueError{text: formatParserText(err.Error())}
	}
	help := "ticketing --help"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			help = node.FullPath() + " --help"
		}
	}
	text := strayWord.ReplaceAllString(formatParserText(err.Error()), "unexpected argument that has digits$1")
	if flag, _, ok := strings.Cut(text, " value but got "); ok {
		// The parser quotes what it found instead of the value: the end of the line, or another flag.
		flag, _, _ = strings.Cut(flag, ": expected ")
		text = flag + " needs a value; write " + flag + "=VALUE for one that begins with --"
	}
	return &usageError{text: text + "\nRun \"" + help + "\" for how it is used."}
}
