package console

// LinkURL returns the address that signs a user in once, for the token of a [ticketing.Link]. The token is after "#",
// where no log and no referrer sees it. With an empty web origin the address is a path, for a redirect on the host of
// the console itself.
func LinkURL(webOrigin, token string) string { return webOrigin + "/sign-in/link#" + token }
