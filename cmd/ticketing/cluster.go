package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/store"
)

type clusterCommands struct {
	Status clusterStatus `cmd:"" help:"Show the nodes of a Citus cluster, and what does not fit."`
}

type clusterStatus struct{}

func (*clusterStatus) Help() string {
	return `It asks the coordinator and each node, in 3 s each, and works while nodes are away or tables are ` +
		`distributed in part. It needs no secret key and changes nothing. The exit status is 0 if everything fits, ` +
		`1 if something does not, and 1 on a database that is not a cluster (NOT_A_CLUSTER). Companies are ordered by ` +
		`the movements of their wallets.

    ticketing cluster status --json | jq -r '.problems[]'`
}

// clusterShown is the output of the state of a cluster.
type clusterShown struct {
	OK       bool             `json:"ok"`
	Shards   int              `json:"shards"`
	Nodes    []nodeShown      `json:"nodes"`
	Largest  []clusterCompany `json:"largest"`
	Problems []string         `json:"problems"`
	Notes    []string         `json:"notes"`
}

// nodeShown is a node of a cluster. Null is what the node did not say.
type nodeShown struct {
	Name      string  `json:"name"`
	Port      int     `json:"port"`
	Group     int     `json:"group"`
	Role      string  `json:"role"`
	Active    bool    `json:"active"`
	Reachable bool    `json:"reachable"`
	Postgres  *string `json:"postgres"`
	Citus     *string `json:"citus"`
	Shards    int     `json:"shards"`
	Bytes     *int64  `json:"bytes"`
	Companies *int64  `json:"companies"`
}

// clusterCompany is one of the largest companies.
type clusterCompany struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Movements int64     `json:"movements"`
	Node      string    `json:"node"`
}

func (*clusterStatus) Run(ctx context.Context, p *program) (err error) {
	switch {
	case p.Database == inMemory:
		return errNotCluster("it is in memory")
	case strings.HasPrefix(p.Database, sqlitePrefix):
		return errNotCluster("it is a file on one machine")
	}
	if err := p.checkDatabase(); err != nil {
		return err
	}
	opened, err := store.Open(ctx, p.Database, &store.Config{ReadOnly: true, RowGates: p.rowGates()})
	if err != nil {
		return named(err)
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	found, err := opened.Cluster(ctx)
	if errors.Is(err, store.ErrNoCluster) {
		return errNotCluster(after(err, store.ErrNoCluster))
	}
	if err != nil {
		return fmt.Errorf("read the state of the cluster: %w", err)
	}
	shown := showCluster(found)
	switch {
	case p.JSON:
		err = encode(p.stdout, shown)
	case !p.Quiet:
		err = p.printCluster(shown)
	}
	if err != nil || shown.OK {
		return err
	}
	return &failure{code: "CLUSTER_NOT_READY", text: "the cluster has " +
		plural(len(shown.Problems), "problem", "problems")}
}

func errNotCluster(why string) error {
	return &failure{code: "NOT_A_CLUSTER", text: "the database is not a cluster: " + why}
}

// showCluster returns the output of a state.
func showCluster(found store.Cluster) clusterShown {
	shown := clusterShown{
		OK: len(found.Problems) == 0, Shards: found.Shards, Nodes: []nodeShown{}, Largest: []clusterCompany{},
		Problems: append([]string{}, found.Problems...), Notes: append([]string{}, found.Notes...),
	}
	addresses := make(map[int]string)
	for _, node := range found.Nodes {
		role := "worker"
		switch {
		case node.Standby:
			role = "standby"
		case node.Group == 0:
			role = "coordinator"
		}
		if !node.Standby {
			addresses[node.Group] = node.Address()
		}
		one := nodeShown{
			Name: node.Name, Port: node.Port, Group: node.Group, Role: role, Active: node.Active,
			Reachable: node.Reachable, Shards: node.Shards, Bytes: node.Bytes, Companies: node.Companies,
		}
		if node.Reachable {
			one.Postgres, one.Citus = &node.Postgres, &node.Citus
		}
		shown.Nodes = append(shown.Nodes, one)
	}
	for _, company := range found.Largest {
		shown.Largest = append(shown.Largest, clusterCompany{
			ID: company.ID, Name: company.Name, Movements: company.Movements, Node: addresses[company.Group],
		})
	}
	return shown
}

// printCluster prints the state for a person: tables of nodes and companies, then sentences.
func (p *program) printCluster(shown clusterShown) error {
	out := bufio.NewWriter(p.stdout)
	nodes := p.table(out, words("NODE"), words("ROLE"), states("STATE"), words("POSTGRES").optional(),
		words("CITUS").optional(), numbers("SHARDS"), numbers("SIZE"), numbers("COMPANIES"))
	for _, node := range shown.Nodes {
		nodes.add([]string{
			node.Name + ":" + strconv.Itoa(node.Port), node.Role, node.state(), orDash(node.Postgres), orDash(node.Citus),
			strconv.Itoa(node.Shards), sizeOrDash(node.Bytes), countOrDash(node.Companies),
		})
	}
	nodes.flush()
	if len(shown.Largest) > 0 {
		_, _ = out.WriteString("\n")
		companies := p.table(out, shortIDs("LARGEST"), texts("NAME"), numbers("MOVEMENTS"), words("NODE"))
		for _, company := range shown.Largest {
			companies.add([]string{
				company.ID.String(), company.Name, strconv.FormatInt(company.Movements, 10), company.Node,
			})
		}
		companies.flush()
	}
	for _, of := range []struct {
		title string
		lines []string
	}{{"Problem: ", shown.Problems}, {"Note: ", shown.Notes}} {
		for _, line := range of.lines {
			fmt.Fprintf(out, "\n%s\n", wrap(of.title+escape(line), 0))
		}
	}
	if shown.OK {
		_, _ = out.WriteString("\nEverything fits.\n")
	}
	return outputError(out.Flush())
}

// table returns a table that is printed to out.
func (p *program) table(out *bufio.Writer, columns ...column) *table {
	return &table{out: out, columns: columns, screen: p.screen(), now: time.Now()}
}

// state returns whether a node works, in a word.
func (n *nodeShown) state() string {
	switch {
	case !n.Active:
		return "disabled"
	case !n.Reachable:
		return "away"
	default:
		return "ok"
	}
}

// sizeOrDash formats a size in units of 1024, or returns a dash for nil.
func sizeOrDash(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	const unit = 1024
	size, names := float64(*bytes), "kMGTP"
	if *bytes < unit {
		return strconv.FormatInt(*bytes, 10) + " B"
	}
	at := -1
	for size >= unit && at < len(names)-1 {
		size /= unit
		at++
	}
	return fmt.Sprintf("%.1f %cB", size, names[at])
}

func countOrDash(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
