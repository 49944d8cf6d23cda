package store

const rowLock = " FOR NO KEY UPDATE"

// appendLock counts the rows in a condition that is never true, which locks them and returns nothing. A cursor that
// moves over them does the same, but cannot be prepared. A distributed engine gets the plain statement.
func (e *postgresEngine) appendLock(to *builder, table string, statement *builder) bool {
	to.engine, to.template = e, to.template || e.traits().prepares
	if e.distributed || !e.multiResult {
		to.append(statement)
		to.endPart(keepNot, nil)
		return false
	}
	if e.traits().prepares {
		e.appendCount(to, table, statement, "", "")
		return true
	}
	to.add("DECLARE ticketing_locked NO SCROLL CURSOR FOR ")
	to.append(statement)
	to.add("; MOVE FORWARD ALL IN ticketing_locked; CLOSE ticketing_locked")
	to.endPart(keepNot, nil)
	return true
}

// appendCount counts the rows that a statement locks in a condition that is never true, between two parts of its text.
func (e *postgresEngine) appendCount(to *builder, table string, statement *builder, before, after string) {
	to.add("UPDATE " + table + " SET company_id = company_id WHERE ")
	from := to.inPart()
	to.add(before + "(SELECT count(1) FROM (")
	to.append(statement)
	to.add(") AS locked)" + after)
	end := to.inPart()
	to.add(" < 0")
	to.endPartOf(keepAlways, statement.shards, core{kind: locksRows, from: from, end: end})
}

// appendClaimedLock is appendLock for the message that begins a transaction, after its claims. If none was granted it
// locks nothing and waits for nothing: a call in flight elsewhere has these locks. It reports whether it can be used.
func (e *postgresEngine) appendClaimedLock(to *builder, table string, statement *builder) bool {
	if e.distributed || e.shards != nil || e.rowGates || !e.traits().prepares || !e.traits().joinsReads {
		return false
	}
	to.engine, to.template = e, true
	e.appendCount(to, table, statement, "CASE WHEN strpos("+claimsSetting+", 't') > 0 THEN ", " END")
	return true
}
