// Command metrics checks that the dashboard and the alert rules of deploy/ show what a server does. It starts "ticketing
// serve" and a Prometheus that scrapes it, sells over HTTP, lets webhooks and statements fail, and then runs each query
// of both. It fails if one is refused or returns nothing.
//
// Its arguments are the ticketing binary and an empty folder. It needs Prometheus (Debian: prometheus).
package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	_ "modernc.org/sqlite"
)

const (
	// lifetime ends what hangs: a run takes half a minute. LIMIT_FACTOR makes it longer, as it does for .ci/run.
	lifetime = 55 * time.Second
	// buyers is how many clients sell at the same time.
	buyers = 8
	// batches is how many thousands of tickets are for sale.
	batches = 20
	// lockTime is longer than the server waits to write, so its statements fail while another process writes.
	lockTime = 6 * time.Second
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: metrics BINARY FOLDER")
	}
	factor := 1
	if text := os.Getenv("LIMIT_FACTOR"); text != "" {
		var err error
		if factor, err = strconv.Atoi(text); err != nil || factor < 1 {
			log.Fatalf("LIMIT_FACTOR must be a whole number, 1 or more: %q", text)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(factor)*lifetime)
	err := run(ctx, os.Args[1], os.Args[2])
	cancel()
	if err != nil {
		log.Fatal(err)
	}
}

// shop is what the demo made.
type shop struct {
	Key     string `json:"apiKey"`
	Company string `json:"companyId"`
	Event   string `json:"eventId"`
	base    string // of the public API
}

func run(ctx context.Context, binary, folder string) (err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return err
	}
	ticketing := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, binary, args...)
		cmd.Dir, cmd.Stderr, cmd.Env = folder, os.Stderr, append(os.Environ(), "TICKETING_DATABASE=sqlite:metrics.db")
		return cmd.Output()
	}
	var s shop
	made, err := ticketing("demo", "--once", "--json", "--addr", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if err := json.Unmarshal(made, &s); err != nil {
		return err
	}
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path != "/accepts" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer receiver.Close()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	if err := os.WriteFile(filepath.Join(folder, "receiver.pem"), certificate, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"float", "credit", s.Company, "--amount", "1000000000.00", "--reference", "metrics-0001"},
		{"webhook", "create", s.Company, "--url", receiver.URL + "/accepts", "--events", "order.created", "--webhook-allow-private"},
		{"webhook", "create", s.Company, "--url", receiver.URL + "/fails", "--events", "order.created", "--webhook-allow-private"},
	} {
		if _, err := ticketing(args...); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	// No collector listens there, so the exports fail.
	server, end, err := start(ctx, folder, "listening on http://", append(os.Environ(),
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://"+closedPort(ctx), "OTEL_BSP_SCHEDULE_DELAY=500", "OTEL_EXPORTER_OTLP_TIMEOUT=500"),
		binary, "serve", "--database", "sqlite:metrics.db", "--addr", "127.0.0.1:0", "--rate-limit", "0",
		"--webhook-allow-private", "--webhook-ca-file", "receiver.pem", "--mail-folder", "mails")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	s.base = "http://" + server + "/api/public/v1"
	prometheus, endPrometheus, err := startPrometheus(ctx, folder, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endPrometheus()) }()
	if err := s.load(ctx, "http://"+server, filepath.Join(folder, "metrics.db")); err != nil {
		return err
	}
	return check(ctx, prometheus)
}

// start starts a program and returns what follows a text on its standard error, which says that it is ready. The
// returned function ends it.
func start(ctx context.Context, folder, ready string, env []string, name string, args ...string) (string, func() error, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	output := &watched{text: ready, found: make(chan string, 1)}
	cmd.Dir, cmd.Stderr, cmd.Env = folder, output, env
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case rest := <-output.found:
		return rest, func() error {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			return <-ended
		}, nil
	case err := <-ended:
		return "", nil, fmt.Errorf("%s ended: %w\n%s", name, err, output.String())
	}
}

// watched keeps what a program writes, and finds the line with a text.
type watched struct {
	mu    sync.Mutex
	all   bytes.Buffer
	text  string
	found chan string
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all.Write(p)
	_, rest, found := strings.Cut(w.all.String(), w.text)
	if line, _, whole := strings.Cut(rest, "\n"); found && whole {
		select {
		case w.found <- line:
		default:
		}
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all.String()
}

// closedPort returns an address at which nobody listens.
func closedPort(ctx context.Context) string {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// startPrometheus starts a Prometheus that scrapes the server each second, as the job of the rules, and returns its URL.
func startPrometheus(ctx context.Context, folder, server string) (string, func() error, error) {
	rules, err := filepath.Abs("deploy/alerts.yml")
	if err != nil {
		return "", nil, err
	}
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [%q]\nscrape_configs:\n"+
		"  - {job_name: ticketing, static_configs: [{targets: [%q]}]}\n", rules, server)
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yml"), []byte(config), 0o600); err != nil {
		return "", nil, err
	}
	address := closedPort(ctx)
	_, end, err := start(ctx, folder, "Server is ready to receive web requests", os.Environ(), "prometheus",
		"--config.file=prometheus.yml", "--storage.tsdb.path=series", "--web.listen-address="+address)
	return "http://" + address, end, err
}

// load sells and validates for long enough that every rate has its samples. In the middle another process holds the lock
// of the database for longer than the server waits.
func (s *shop) load(ctx context.Context, server, database string) error {
	for batch := range batches {
		status, answer, err := s.call(ctx, http.MethodPost, "/events/"+s.Event+"/inventory", fmt.Sprintf("metrics-batch-%d", batch),
			`{"tier": "VIP", "title": "Seat", "unitPrice": "1500.00", "currency": "NGN", "isFree": false, "quantity": 1000,
			"status": "AVAILABLE"}`)
		if err != nil {
			return err
		}
		if status != http.StatusCreated {
			return fmt.Errorf("inventory: %d %s", status, answer)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for buyer := range buyers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s.buy(ctx, fmt.Sprintf("metrics-%d-%d", buyer, n))
				_, _ = get(ctx, server+"/sign-in")
			}
		})
	}
	if err := wait(ctx, 3*time.Second); err != nil {
		return err
	}
	if err := lock(ctx, database, func() {
		for n := range 10 { // Changes that share no transaction fail while the lock is held.
			group.Go(func() {
				_, _, _ = s.call(ctx, http.MethodPatch, "/events/"+s.Event, "", fmt.Sprintf(`{"title": "Metrics %d"}`, n))
			})
		}
	}); err != nil {
		return err
	}
	if err := wait(ctx, 6*time.Second); err != nil {
		return err
	}
	cancel()
	group.Wait()
	return nil
}

// buy sells two tickets, validates one of them, and reads the orders.
func (s *shop) buy(ctx context.Context, key string) {
	line := `"lines": [{"tier": "VIP", "quantity": 2, "expectedUnitPrice": "1500.00", "currency": "NGN"}]`
	_, answer, _ := s.call(ctx, http.MethodPost, "/checkouts", key, `{"eventId": "`+s.Event+`", "buyer": {"email": "ada@example.com"}, `+line+`}`)
	if admission := regexp.MustCompile(`"admissionId":"([^"]+)"`).FindSubmatch(answer); admission != nil {
		_, _, _ = s.call(ctx, http.MethodPost, "/events/"+s.Event+"/admissions/"+string(admission[1])+"/validate", key, "{}")
	}
	_, _, _ = s.call(ctx, http.MethodGet, "/orders", "", "")
}

// call calls the API.
func (s *shop) call(ctx context.Context, method, path, key, body string) (int, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+s.Key)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// lock holds the lock of a SQLite database, and calls held once it does.
func lock(ctx context.Context, database string, held func()) error {
	pool, err := sql.Open("sqlite", database+"?_pragma=busy_timeout(20000)&_txlock=immediate")
	if err != nil {
		return err
	}
	defer pool.Close()
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	held()
	return errors.Join(wait(ctx, lockTime), tx.Rollback())
}

// wait waits for samples: Prometheus has no other sign that it took some.
func wait(ctx context.Context, patience time.Duration) error {
	select {
	case <-time.After(patience):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

// check runs every query of the dashboard and of the rules.
func check(ctx context.Context, prometheus string) error {
	queries, err := dashboard()
	if err != nil {
		return err
	}
	rules, err := alerts(ctx, prometheus)
	if err != nil {
		return err
	}
	queries = append(queries, rules...)
	errs := []error{checkVariables(ctx, prometheus)}
	for _, query := range queries {
		var found struct {
			Status, Error string
			Data          struct{ Result []struct{ Value []any } }
		}
		answer, err := get(ctx, prometheus+"/api/v1/query?query="+url.QueryEscape(query.expr))
		if err == nil {
			err = json.Unmarshal(answer, &found)
		}
		switch {
		case err != nil:
			return err
		case found.Status != "success":
			err = errors.New(found.Error)
		case len(found.Data.Result) == 0 && strings.Contains(query.expr, "ticketing_cluster_"):
			// Only a cluster has it; the rule's own test gives it values.
		case len(found.Data.Result) == 0:
			err = errors.New("returns nothing")
		case !slices.ContainsFunc(found.Data.Result, func(of struct{ Value []any }) bool {
			return len(of.Value) == 2 && of.Value[1] != "NaN"
		}):
			err = errors.New("returns no number") // A division by zero
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", query.of, query.expr, err))
		}
	}
	fmt.Printf("%d queries of the dashboard and %d of the rules return data\n", len(queries)-len(rules), len(rules))
	if len(queries)-len(rules) < 30 || len(rules) < 20 {
		errs = append(errs, errors.New("there are fewer queries than there should be"))
	}
	return errors.Join(errs...)
}

// query is a query and where it is.
type query struct{ of, expr string }

// board is what the dashboard asks of Prometheus.
type board struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

func readBoard() (of board, err error) {
	text, err := os.ReadFile("deploy/grafana.json")
	if err != nil {
		return of, err
	}
	return of, json.Unmarshal(text, &of)
}

// values replaces the variables of the dashboard.
var values = strings.NewReplacer("$__rate_interval", "15s", "$__range", "15s", "$instance", ".*", "$job", "ticketing")

// threshold matches what a query is compared with.
var threshold = regexp.MustCompile(`\s(>|==)\s[0-9.e+]+$`)

// checkVariables checks that each variable of the dashboard that is queried has values to choose from.
func checkVariables(ctx context.Context, prometheus string) error {
	board, err := readBoard()
	if err != nil {
		return err
	}
	labelValues := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	checked := 0
	for _, variable := range board.Templating.List {
		if variable.Type != "query" {
			continue
		}
		of := labelValues.FindStringSubmatch(values.Replace(variable.Definition))
		if of == nil {
			return fmt.Errorf("the variable %s: %q is not label_values(…, …)", variable.Name, variable.Definition)
		}
		answer, err := get(ctx, prometheus+"/api/v1/label/"+of[2]+"/values?match[]="+url.QueryEscape(of[1]))
		if err != nil {
			return err
		}
		var found struct{ Data []string }
		if err := json.Unmarshal(answer, &found); err != nil {
			return err
		}
		if len(found.Data) == 0 {
			return fmt.Errorf("the variable %s: %s has no values", variable.Name, variable.Definition)
		}
		checked++
	}
	if checked < 2 {
		return errors.New("the dashboard has fewer variables than it should have")
	}
	return nil
}

// dashboard returns the queries of the dashboard, with its variables replaced by values. An annotation's is without its
// threshold.
func dashboard() ([]query, error) {
	board, err := readBoard()
	if err != nil {
		return nil, err
	}
	var queries []query
	for _, annotation := range board.Annotations.List {
		queries = append(queries, query{annotation.Name, threshold.ReplaceAllString(values.Replace(annotation.Expr), "")})
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, query{panel.Title, values.Replace(target.Expr)})
		}
	}
	return queries, nil
}

// alerts returns the queries of the rules as Prometheus has loaded them, without their thresholds: a healthy server
// exceeds none. Of a query of several conditions it returns each. The one that asks for what is absent is the metric.
func alerts(ctx context.Context, prometheus string) ([]query, error) {
	answer, err := get(ctx, prometheus+"/api/v1/rules")
	if err != nil {
		return nil, err
	}
	var loaded struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name, Query, LastError string
					Annotations            map[string]string
				}
			}
		}
	}
	if err := json.Unmarshal(answer, &loaded); err != nil {
		return nil, err
	}
	runbook, err := os.ReadFile("docs/operating.md")
	if err != nil {
		return nil, err
	}
	absent := regexp.MustCompile(`^absent\((.*)\)$`)
	conditions := regexp.MustCompile(`\sand (on \(\) )?`)
	var queries []query
	for _, group := range loaded.Data.Groups {
		for _, rule := range group.Rules {
			if rule.LastError != "" {
				return nil, fmt.Errorf("%s: %s", rule.Name, rule.LastError)
			}
			_, anchor, _ := strings.Cut(rule.Annotations["runbook_url"], "docs/operating.md#")
			if anchor != strings.ToLower(rule.Name) || !bytes.Contains(runbook, []byte("\n#### "+rule.Name+"\n")) {
				return nil, fmt.Errorf("%s: docs/operating.md has no section for it", rule.Name)
			}
			for _, condition := range conditions.Split(rule.Query, -1) {
				condition = threshold.ReplaceAllString(strings.TrimSpace(condition), "")
				queries = append(queries, query{rule.Name, absent.ReplaceAllString(condition, "$1")})
			}
		}
	}
	return queries, nil
}
