package main_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	_ "modernc.org/sqlite" // The driver, for tests that break tables.

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
)

// asProgram is the environment variable that makes the test binary behave as the program. With it, tests can run the
// program in separate processes.
const asProgram = "TEST_BINARY_IS_TICKETING"

// asTimers is the environment variable that makes the test binary call printTimers.
const asTimers = "TEST_BINARY_PRINTS_TIMERS"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(program.Run(context.Background(), os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(asTimers) != "" {
		printTimers()
		return
	}
	os.Exit(m.Run())
}

// sameOnPostgres are the tests that need not run again on PostgreSQL, by the beginnings of their names.
var sameOnPostgres = []string{
	// They choose their database themselves: PostgreSQL, one in memory, or one of each kind.
	"Bench", "ConnectionLimit", "DatabaseIsLost", "DemoOnAllAddresses", "DemoPrintsCommandsThatWork",
	"DemoWithinItsRateLimit", "DistributeWithoutCitus", "HealthIsAtItsExactPaths", "IdleConnections",
	"ListenOutlivesItsDatabase", "Overload", "PostgresThatCannotBeUsed", "ServeFlags", "ServerDrainsOnPostgres",
	"ServerOfARole", "ServersShareOneDatabase", "ServersStartAtOnce", "SilentConnections", "TenPrograms",
	"Home", "DemoHome", "TwoServers", "UnreadableRequest",
	// They are about files, of the database or of the secret key beside it, which PostgreSQL does not have.
	"CommandsThatBegin", "DatabaseThatCannotBeUsed", "DefaultDatabase", "FullDisk", "LedgerExport",
	"MistypedPath", "NoDatabaseInItsPlace", "ReadOnlyFolder", "SecretKey", "UnprivilegedUser",
	// They have no database, or end before they use it.
	"ActorNameIsBounded", "BacklogIsReported", "CodesOfFailures", "Confirmation$", "DeadLettersAreCounted",
	"EmbedSnippet$", "EqualSecretKeys", "ErrorsShowUnseenCharacters", "EveryCommandDecides", "ExitStatus",
	"FinalCommandsAreRefused", "Help", "MailFlagsThatContradict", "MailMetrics", "MailSenderCheck",
	"OutcomesAreFew", "PreviewOfAFile", "Proxy", "SecretsInFiles", "SignalsThatComeTogether", "StatementsAreSafe",
	"TitleIsLimited", "Usage", "UserWithoutAName",
	"ValueWithHyphen", "Version",
	// They are about what a command prints, asks, or takes from its flags and the environment.
	"AuditNamesWho", "BothEndsAreTheTerminal", "CommandsShowNoAccountNumber", "DemoForScripts", "Environment",
	"CoarseTimers", "EveryCommandTakesAnActor", "FinalCommandsGoAhead", "InterruptAtTheQuestion", "ListenForScripts",
	"ListenReportsWhatFails", "NotificationPreview", "NotificationResendRefuses", "OutputForPeople",
	"OutputThatIsLost", "PrivateWebhookAddress", "ProgressOfTheLedger", "Questions", "ReplayOfOneIsNotConfirmed",
	"ReplayOnATerminal", "ResendOfOneIsNotConfirmed", "SettingUpAsksNothing", "TenWebhookEndpoints",
	"TimerSlack", "UnseenCharacters", "WebhookOutputForPeople",
	// They are about connections, certificates, browsers, pages or the mail server.
	"BadCertificates", "ConnectionsWaitForRoom", "DemoLeavesNoKey", "DemoMails", "DemoOverTLS", "DemoShop",
	"DemoWithoutRoomForAShop", "EmbedSnippetIsPasted", "ListenRelaysReplays", "ListenSends", "MailRate",
	"MailSenderTest", "OperatorListener", "SecondSignal", "ServeOnATakenPort", "ServeOverTLS",
	"ServerDrainsDespiteASlowClient", "ServerEndsWithItsContext", "ServerWaitsForItsMailServer", "ServerWithout",
	"ServerWritesMailsToAFolder", "WebhookMetrics",
	// They open PostgreSQL or a cluster themselves.
	"ClusterStatus",
}

// TestOnPostgres runs the tests of SQLite again on PostgreSQL, but for those that would do the same there.
func TestOnPostgres(t *testing.T) {
	t.Parallel()
	but, only := sameOnPostgres, ""
	if race.Enabled { // The sequential commands have run on SQLite.
		but = append(slices.Clone(but), "Killed")
		only = "Server|AtOnce|Restart|Drain|Delivers|Listen|Readiness"
	}
	testdb.Again(t, only, "^Test("+strings.Join(but, "|")+")")
}

// eventually waits until a condition holds that another process brings about.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	const first, longest = 10 * time.Millisecond, 300 * time.Millisecond // Each check costs processor time.
	for pause, late := first, time.Now().Add(patience); !holds(); pause = min(2*pause, longest) {
		if time.Now().After(late) {
			t.Fatalf("%s: not within %s", what, patience)
		}
		<-time.NewTimer(pause).C
	}
}

// soon returns a context that ends after patience.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// patience bounds how long a test waits. The awaited events take milliseconds. A command that lives longer than
// lifetime is stuck: the slowest takes seconds.
const (
	patience = 60 * time.Second
	lifetime = 4 * time.Minute
)

// shell runs commands on a separate database. It confirms all questions, as --yes does.
type shell struct {
	t   *testing.T
	dir string
	env map[string]string
}

// operator returns an Operator on the shell's database in this process. That is faster than running a command for each
// of many actions.
func (s *shell) operator() ticketing.Operator {
	s.t.Helper()
	op, closed, err := program.OpenOperator(s.t.Context(), s.env["TICKETING_DATABASE"], s.env["TICKETING_SECRET_KEY"])
	must(s.t, err)
	s.t.Cleanup(func() { must(s.t, closed()) })
	return op
}

// newShell returns a shell whose database already has its tables, since creating them takes longer than most tests. On
// SQLite it also has its secret key.
func newShell(t *testing.T) *shell {
	t.Helper()
	sh := newShellWithoutFile(t)
	if !testdb.OnPostgres() {
		path := filepath.Join(sh.dir, "t.db")
		testdb.SQLiteFile(t, path)
		must(t, os.WriteFile(path+".key", []byte(strings.Repeat("30", 32)+"\n"), 0o600))
	}
	return sh
}

// newShellWithoutFile is like newShell, but on SQLite neither the database nor its secret key exists.
func newShellWithoutFile(t *testing.T) *shell {
	t.Helper()
	return newShellOn(t, testdb.DSN)
}

// newEmptyShell returns a shell whose database has no tables. On SQLite it does not exist.
func newEmptyShell(t *testing.T) *shell {
	t.Helper()
	return newShellOn(t, pgtest.Database)
}

func newShellOn(t *testing.T, postgres func(tb testing.TB) string) *shell {
	t.Helper()
	dir := t.TempDir()
	if testdb.OnPostgres() {
		return &shell{t: t, dir: dir, env: map[string]string{
			"TICKETING_DATABASE": postgres(t), "TICKETING_SECRET_KEY": strings.Repeat("MDEy", 16),
			"TICKETING_YES": "true", "TICKETING_SHOP_ADDR": "127.0.0.1:0", "TMPDIR": dir,
		}}
	}
	return &shell{t: t, dir: dir, env: map[string]string{
		"TICKETING_DATABASE": "sqlite:" + filepath.Join(dir, "t.db"), "TICKETING_YES": "true",
		"TICKETING_SHOP_ADDR": "127.0.0.1:0", "TMPDIR": dir,
	}}
}

// with returns a shell with changed environment variables. An empty value unsets a variable.
func (s *shell) with(pairs ...string) *shell {
	env := maps.Clone(s.env)
	for i := 0; i < len(pairs); i += 2 {
		env[pairs[i]] = pairs[i+1]
	}
	return &shell{t: s.t, dir: s.dir, env: env}
}

type outcome struct {
	status         int
	stdout, stderr string
}

// run runs a command within the test's process. After its lifetime it is interrupted.
func (s *shell) run(args ...string) outcome {
	ctx, cancel := context.WithTimeout(s.t.Context(), lifetime)
	defer cancel()
	return s.runWith(ctx, args...)
}

func (s *shell) runWith(ctx context.Context, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	getenv := func(name string) string { return s.env[name] }
	status := program.Run(ctx, args, getenv, strings.NewReader(""), &stdout, &stderr)
	return outcome{status: status, stdout: stdout.String(), stderr: stderr.String()}
}

// value runs a command with --json that succeeds, and decodes the one value that it prints.
func (s *shell) value(args ...string) any {
	s.t.Helper()
	did := s.run(append(args, "--json")...)
	if did.status != 0 {
		s.t.Fatalf("ticketing %s: exit status %d\n%s", strings.Join(args, " "), did.status, did.stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(did.stdout))
	var value any
	if err := decoder.Decode(&value); err != nil {
		s.t.Fatalf("ticketing %s: %v in %q", strings.Join(args, " "), err, did.stdout)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		s.t.Fatalf("ticketing %s: more than one value in %q", strings.Join(args, " "), did.stdout)
	}
	return value
}

// decodeJSON decodes a text that is one JSON value.
func decodeJSON(t *testing.T, text string, value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
}

// object returns the value of a command that prints an object.
func (s *shell) object(args ...string) map[string]any {
	s.t.Helper()
	object, ok := s.value(args...).(map[string]any)
	if !ok {
		s.t.Fatalf("ticketing %s: no object", strings.Join(args, " "))
	}
	return object
}

// array returns the value of a command that prints an array of objects.
func (s *shell) array(args ...string) []map[string]any {
	s.t.Helper()
	array, ok := s.value(args...).([]any)
	if !ok {
		s.t.Fatalf("ticketing %s: no array", strings.Join(args, " "))
	}
	objects := make([]map[string]any, len(array))
	for i := range array {
		if objects[i], ok = array[i].(map[string]any); !ok {
			s.t.Fatalf("ticketing %s: no array of objects", strings.Join(args, " "))
		}
	}
	return objects
}

// refusal runs a command with --json that is refused, and returns its code and message.
func (s *shell) refusal(args ...string) (code, message string) {
	s.t.Helper()
	did := s.run(append(args, "--json")...)
	if did.status != 1 || did.stdout != "" {
		s.t.Fatalf("ticketing %s: exit status %d\n%s", strings.Join(args, " "), did.status, did.stdout)
	}
	return refused(s.t, did.stderr)
}

// refused decodes the error that a command with --json prints.
func refused(t *testing.T, stderr string) (code, message string) {
	t.Helper()
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.Unmarshal([]byte(stderr), &body); err != nil {
		t.Fatalf("%v in %q", err, stderr)
	}
	return body.Error.Code, body.Error.Message
}

// process is the program running as a separate process.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdout *bufio.Reader

	mu         sync.Mutex
	stderr     strings.Builder
	origin     chan string // http://HOST:PORT, once the process listens
	errorLines chan string // the lines of standard error, up to the capacity of the channel
	read       chan struct{}
}

// environment returns the environment of a process of the program: that of the shell, and the settings of Go's runtime
// with which the tests run.
func (s *shell) environment() []string {
	all := []string{asProgram + "=1"}
	for name, value := range s.env {
		all = append(all, name+"="+value)
	}
	for _, name := range []string{"GOGC", "GORACE"} {
		if value, set := os.LookupEnv(name); set {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// leftOut skips a test that starts processes if -short is given.
func leftOut(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves processes out")
	}
}

// start starts a command as a process. If it still runs at the end of the test, it is killed. After its lifetime it
// ends with a dump of its goroutines, so a test that reads its output is never stuck with it.
func (s *shell) start(args ...string) *process {
	s.t.Helper()
	leftOut(s.t)
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], args...)
	cmd.Dir = s.dir
	cmd.Env = s.environment()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{
		t: s.t, cmd: cmd, stdout: bufio.NewReader(stdout), origin: make(chan string, 1), read: make(chan struct{}),
		errorLines: make(chan string, 1000),
	}
	go p.readErrors(stderr)
	stuck := time.AfterFunc(lifetime, func() {
		if cmd.Process.Signal(syscall.SIGQUIT) != nil {
			_ = cmd.Process.Kill()
		}
	})
	s.t.Cleanup(func() {
		stuck.Stop()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Logf("ticketing %s:\n%s", strings.Join(args, " "), p.errors())
		}
	})
	return p
}

func (p *process) readErrors(stderr io.Reader) {
	defer close(p.read)
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if origin, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.origin <- origin
		}
		p.mu.Lock()
		p.stderr.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
		select {
		case p.errorLines <- lines.Text():
		default:
		}
	}
}

// errors returns what the process wrote to standard error so far.
func (p *process) errors() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// listening waits until the process listens, and returns http://HOST:PORT.
func (p *process) listening() string {
	p.t.Helper()
	select {
	case origin := <-p.origin:
		return origin
	case <-p.read:
		p.t.Fatalf("it ended without listening:\n%s", p.errors())
	case <-time.After(patience):
		p.t.Fatalf("it does not listen:\n%s", p.errors())
	}
	return ""
}

// waitsFor waits until the process has written a line to standard error.
func (p *process) waitsFor(line string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case printed := <-p.errorLines:
			if printed == line {
				return
			}
		case <-p.read:
			p.t.Fatalf("it ended without telling %q:\n%s", line, p.errors())
		case <-late:
			p.t.Fatalf("it does not tell %q:\n%s", line, p.errors())
		}
	}
}

// wait waits for the end of the process and returns its exit status, or -1 after a signal.
func (p *process) wait() int {
	p.t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, p.stdout)
		<-p.read
		_ = p.cmd.Wait()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		p.t.Fatalf("it does not end:\n%s", p.errors())
	}
	return p.cmd.ProcessState.ExitCode()
}

// signal sends a signal to the process.
func (p *process) signal(sig os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// get requests a page of a server.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	return send(t, http.MethodGet, url, "", "", "")
}

// send makes a request with a key, an idempotency key and a JSON body. Empty values are omitted.
func send(t *testing.T, method, url, key, idempotencyKey, body string) (status int, answer string) {
	t.Helper()
	is := is.New(t)
	request, err := http.NewRequestWithContext(soon(t), method, url, strings.NewReader(body))
	is.NoErr(err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := wire(t).RoundTrip(request)
	is.NoErr(err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	is.NoErr(err)
	return response.StatusCode, string(text)
}

// wire returns a transport that checks every response of the API against the contract's document. The health and
// metrics endpoints are not part of the API, so it does not check their responses.
func wire(t *testing.T) http.RoundTripper {
	t.Helper()
	return contracttest.Transport(t.Error, http.DefaultTransport, func(r *http.Request) bool {
		beside := []string{"/healthz", "/readyz", "/metrics"}
		return r.Method != http.MethodGet || !slices.Contains(beside, r.URL.Path)
	})
}

// shop is a company that is ready to sell, created by a demo that has ended.
type shop struct {
	companyID, eventID, key string
}

// openShop creates a company that is ready to sell in the shell's database.
func (s *shell) openShop() shop {
	s.t.Helper()
	demo := s.object("demo", "--once", "--addr", "127.0.0.1:0")
	return shop{
		companyID: demo["companyId"].(string), eventID: demo["eventId"].(string), key: demo["apiKey"].(string),
	}
}

// api returns the client that integrators use, with the shop's key. It never retries, so that tests see every failure.
func (s shop) api(t *testing.T, origin string) *client.Client {
	t.Helper()
	api, err := client.New(origin+prefix, s.key, &client.Config{Attempts: 1, Transport: wire(t)})
	is.New(t).NoErr(err)
	return api
}

// basket returns the checkout of one ticket.
func (s shop) basket() ticketing.CheckoutParams {
	return ticketing.CheckoutParams{
		EventID: uuid.MustParse(s.eventID), Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "GENERAL_ADMISSION", Quantity: 1, ExpectedUnitPrice: 5_000_00, Currency: money.Currency,
		}},
	}
}

// checkout returns the body of a checkout of the basket.
func (s shop) checkout() string {
	return fmt.Sprintf(`{"eventId":%q,"buyer":{"email":"ada@example.com"},"lines":[{"tier":"GENERAL_ADMISSION",`+
		`"quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}]}`, s.eventID)
}

// sql executes statements on the shell's database, for changes that no command makes.
func (s *shell) sql(statements ...string) {
	s.t.Helper()
	is := is.New(s.t)
	driver, name := "sqlite", filepath.Join(s.dir, "t.db")+"?_pragma=busy_timeout(5000)"
	if testdb.OnPostgres() {
		driver, name = "pg", s.env["TICKETING_DATABASE"]
	}
	db, err := sql.Open(driver, name)
	is.NoErr(err)
	defer func() { is.NoErr(db.Close()) }()
	for _, statement := range statements {
		_, err := db.ExecContext(s.t.Context(), statement)
		is.NoErr(err)
	}
}

// query reads one value from the shell's database.
func (s *shell) query(statement string, value any) {
	s.t.Helper()
	is := is.New(s.t)
	driver, name := "sqlite", filepath.Join(s.dir, "t.db")+"?_pragma=busy_timeout(5000)"
	if testdb.OnPostgres() {
		driver, name = "pg", s.env["TICKETING_DATABASE"]
	}
	db, err := sql.Open(driver, name)
	is.NoErr(err)
	defer func() { is.NoErr(db.Close()) }()
	is.NoErr(db.QueryRowContext(s.t.Context(), statement).Scan(value))
}

// hasMembers fails the test if an object lacks one of the members.
func hasMembers(t *testing.T, object map[string]any, members ...string) {
	t.Helper()
	for _, member := range members {
		if _, ok := object[member]; !ok {
			t.Errorf("%q is missing in %v", member, object)
		}
	}
}

// naira returns a money object as it is decoded.
func naira(amount string) map[string]any { return map[string]any{"amount": amount, "currency": "NGN"} }

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	is.New(t).NoErr(err)
}
