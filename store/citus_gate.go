package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// An advisory lock holds on one node. The gates and claims of sessions on the coordinator meet there. Sessions on
// several nodes need [Config.RowGates]: a row lock is taken on the node that has the company, and so are the claims, as
// advisory locks that the node takes for the transaction.

// checkNode refuses a node whose advisory locks would not meet those of the coordinator. Each node knows its group; the
// coordinator's is zero, also that of a database whose cluster has no other nodes.
func (e *postgresEngine) checkNode(ctx context.Context) error {
	if !e.distributed || e.rowGates {
		return nil
	}
	group := 0
	err := e.query(ctx, e.db, build(e, "SELECT coalesce(max(groupid), 0)::bigint FROM pg_catalog.pg_dist_local_group"),
		eachRow(func(row rowSet) error { return row.Scan(&group) }))
	if err != nil {
		return fmt.Errorf("ticketing/store: open: %w", e.classify(err))
	}
	if group != 0 {
		return fmt.Errorf("%w: it is a worker of a Citus cluster, of group %d; connect all servers and commands to "+
			"the coordinator, or start all of them with --gates rows (Config.RowGates) or nodes (Config.DirectNodes)",
			ErrNotCoordinator, group)
	}
	return nil
}

// claimsOnNodes reports whether claims are taken on the nodes of their companies.
func (e *postgresEngine) claimsOnNodes() bool { return e.rowGates && e.distributed }

// beginByRows begins in several messages. The claims come first: if all are in flight it waits for no row, since the
// calls that have the claims may hold it.
func (e *postgresEngine) beginByRows(
	ctx context.Context, in driver.BeginOptions, begin, after string, patience time.Duration,
) (pooledConn, []bool, error) {
	conn, err := e.start(ctx, begin, patience)
	if err != nil {
		return pooledConn{}, nil, err
	}
	inFlight, err := e.claimOnNodes(ctx, conn, in.Keys)
	if err == nil && (len(in.Keys) == 0 || slices.Contains(inFlight, false)) {
		message := strings.TrimSuffix(e.rowLockStatement(in), "; ")
		if after != "" {
			message = strings.TrimPrefix(message+"; "+after, "; ")
		}
		_, err = e.ask(ctx, conn, message, false, 0)
	}
	if err != nil {
		e.abandon(ctx, conn, err)
		return pooledConn{}, nil, err
	}
	return conn, inFlight, nil
}

// claimOnNodes tries the claims on the nodes of their companies, and reports which are in flight. The node of a company
// is the same also before the company exists. The subquery is one row.
func (e *postgresEngine) claimOnNodes(
	ctx context.Context, conn pooledConn, keys []driver.IdempotencyKey,
) ([]bool, error) {
	inFlight := make([]bool, len(keys))
	places := make(map[uuid.UUID][]int)
	var companies []uuid.UUID
	for i, key := range keys {
		if len(places[key.CompanyID]) == 0 {
			companies = append(companies, key.CompanyID)
		}
		places[key.CompanyID] = append(places[key.CompanyID], i)
	}
	claims := e.claims(keys)
	for _, company := range companies {
		var of []int64
		for _, i := range places[company] {
			of = append(of, claims[i])
		}
		statement := build(e, "SELECT pg_catalog.pg_try_advisory_xact_lock(n)::text FROM (SELECT count(*) FROM "+anchor+
			" WHERE id = ?) c, LATERAL unnest(?) WITH ORDINALITY AS claims (n, place) ORDER BY place", company, numbers(of))
		answers, err := e.ask(ctx, conn, string(statement.appendMessage(nil, nil)), true, len(of))
		if err != nil {
			return nil, err
		}
		for j, i := range places[company] {
			inFlight[i] = answers[j]
		}
	}
	return inFlight, nil
}
