package store

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// byIndex restricts the planner to indexes, since every lookup is by a key. Without it, the planner may read a whole
// table that is small, or was small when its statistics were taken, or read all rows of a company by a bitmap scan. A
// table without an index for a query is still read in full. The planner estimates such a high cost for that that it
// would compile the plan with JIT first, which takes a quarter of a second.
func byIndex() string { return readByIndex + localSettings(joinByIndex()) }

// readByIndex is the part of byIndex that a read outside of a transaction needs: each setting costs such a read one or
// two microseconds.
const readByIndex = "SET LOCAL enable_seqscan TO off; SET LOCAL enable_bitmapscan TO off; SET LOCAL jit TO off; "

// joinByIndex is the rest of byIndex.
func joinByIndex() []setting {
	return []setting{{"enable_hashjoin", "off"}, {"enable_mergejoin", "off"}, {"enable_memoize", "off"}}
}

// opening is what a message begins with: BEGIN, or nothing, and the settings. They are local to the transaction: a
// pooler would pass settings of the session to other clients, or lose them. In a session that keeps settings, see
// keepSettings, the message begins with begin and brief in place of full.
type opening struct {
	full, begin string
	brief       []setting
}

// setting is a setting of PostgreSQL.
type setting struct{ name, value string }

// local returns the statement that makes the setting in a transaction.
func (s setting) local() string { return "SET LOCAL " + s.name + " TO " + s.value + "; " }

// localSettings returns the statements that make settings in a transaction.
func localSettings(settings []setting) string {
	var text strings.Builder
	for _, s := range settings {
		text.WriteString(s.local())
	}
	return text.String()
}

// text returns what a message begins with in a session that keeps settings.
func (o opening) text() string { return o.begin + localSettings(o.brief) }

// settings are sent first in a message outside of a transaction of the store's own, or after BEGIN.
func (e *postgresEngine) settings(begin string, statement, lock time.Duration) opening {
	o := opening{full: begin + e.searchPath() + e.onNodes(e.limits(statement, lock)), begin: begin}
	if e.schema != "" {
		o.brief = append(o.brief, setting{"search_path", quoted(e.schema)})
	}
	if statement != e.keptLimit {
		o.brief = append(o.brief, statementLimit(statement))
	}
	if lock > 0 {
		o.brief = append(append(o.brief, joinByIndex()...), lockLimit(lock))
	}
	return o
}

// keepSettings decides, once, whether each session keeps the settings that are the same in all messages, so that these
// need not repeat them: where its connection ends at the server, as for COPY. The search path is not among them: if a
// session were another client's after all, as behind a pooler that hides itself, the store would work on tables of
// another schema. The limits and the plans that would be lost there are not needed for a right result.
func (e *postgresEngine) keepSettings() {
	if e.copiesRows {
		e.keptLimit = e.statement
		e.kept = strings.ReplaceAll(e.limits(e.statement, 0)+readByIndex+e.idleLimit()+probeSettings(e.idle),
			"SET LOCAL ", "SET ") + keepMemory
	}
}

// keepMemory lets a session keep some 2 MB of the memory that a transaction frees, for the next one. The allocator of
// glibc returns memory to the system once 128 KB are free, and raises that to twice the largest block that was freed,
// see mallopt(3). A transaction for many companies takes more than that, and each 4 KB that it gets back costs a page
// fault. Other allocators do not notice it.
const keepMemory = "SELECT octet_length(repeat(' ', 1048576)); "

func (e *postgresEngine) searchPath() string {
	if e.schema == "" {
		return ""
	}
	return "SET LOCAL search_path TO " + quoted(e.schema) + "; "
}

func (e *postgresEngine) limits(statement, lock time.Duration) string {
	var text strings.Builder
	text.WriteString(statementLimit(statement).local())
	if e.traits().prepares {
		text.WriteString("SET LOCAL plan_cache_mode TO force_generic_plan; ")
	}
	if lock > 0 {
		text.WriteString(byIndex() + lockLimit(lock).local() + e.idleLimit())
	}
	return text.String()
}

func statementLimit(limit time.Duration) setting { return milliseconds("statement_timeout", limit) }

func lockLimit(limit time.Duration) setting {
	return milliseconds("lock_timeout", max(limit, time.Millisecond))
}

func milliseconds(name string, limit time.Duration) setting {
	return setting{name, strconv.FormatInt(limit.Milliseconds(), 10)}
}

func (e *postgresEngine) idleLimit() string {
	return fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout TO %d; ", e.idle.Milliseconds())
}

// onNodes returns settings so that they also apply on the nodes of a cluster that the transaction uses. Citus sends a
// node the text of the setting, and takes for that the whole message in which it is: further statements of the message
// would run twice. In a block each setting has a text of its own.
func (e *postgresEngine) onNodes(settings string) string {
	if !e.distributed || e.isNode {
		return settings
	}
	return "DO $set$ BEGIN SET LOCAL citus.propagate_set_commands TO local; " + settings +
		"SET LOCAL citus.propagate_set_commands TO none; END $set$; "
}

// probeSettings and lossSettings end a connection whose other end is gone while the server waits for rows, within the
// limit: if nobody confirms what it sent, or the probes that its kernel sends for lack of anything else. With the
// probes alone it takes as long as the server's number of them.
func probeSettings(limit time.Duration) string {
	const probes = 3
	every := max(int(limit.Seconds())/probes, 1)
	return fmt.Sprintf("SET LOCAL tcp_keepalives_idle TO %d; SET LOCAL tcp_keepalives_interval TO %d; ", every, every)
}

// lossSettings are for a transaction that may copy rows. They would also end the connection of a reader that does not
// take its rows for that long.
func lossSettings(limit time.Duration) setting { return milliseconds("tcp_user_timeout", limit) }
