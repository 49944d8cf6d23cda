package httpapi

// ParseForwarded reads an entry of X-Forwarded-For.
var ParseForwarded = parseForwarded
