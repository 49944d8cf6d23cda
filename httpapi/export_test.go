package httpapi

// ParseForwarded parses an entry of X-Forwarded-For.
var ParseForwarded = parseForwarded
