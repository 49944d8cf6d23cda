// Package console serves the pages for a company's people and for the platform's staff, and JSON for the same actions,
// as one [http.Handler]:
//
//	handler, err := console.New(svc, &console.Config{WebOrigin: "https://tickets.example.com", Mailer: sender})
//	…
//	for _, path := range console.Paths() {
//		mux.Handle(path, handler)
//	}
//
// # Pages and acts
//
// A page is a GET and changes nothing. An act is a POST and ends with a redirect to a page. Each is a row of a table.
// Two adapters use the tables, so both have the same rules:
//
//   - The pages. /business/{companyId}/api-keys is a page. A form on it posts to the path of an act.
//   - /api/v2. The JSON of a page is at /api/v2 and the path of the page. An act is a POST of a JSON object at /api/v2
//     and the path of the act. A success is {"data": …, "page": {"hasMore": …, "nextCursor": …}}, where page is there
//     for a list alone. A failure is {"error": {"code", "message", "violations"}}. The Authorization header is never
//     read.
//
// # Adding a page
//
// A page is a row in the table of its scope, such as companyPages, in the file page_NOUN.go with its load function, and
// a template templates/NOUN.html that defines "content":
//
//	page{
//		group: groupIntegrations, bar: true,
//		path: "/business/{companyId}/api-keys", scope: scopeCompany, title: "API keys", nav: "API keys", icon: "key",
//		permissions: []ticketing.Permission{ticketing.PermissionAPIKeyRead}, template: "api-keys.html",
//		query: []string{"cursor"}, load: loadAPIKeys,
//	}
//
//	func loadAPIKeys(ctx context.Context, c *call) (view, error) {
//		keys, err := c.operator.ListAPIKeys(ctx, c.companyID)
//		return view{data: keys}, err
//	}
//
// A page of the data plane, such as one of events, has grants instead of permissions and calls c.console.svc as
// c.caller. An act has a grant, and its function is wrapped by onDataPlane. A form that creates something there has the
// hidden field idempotencyKey with the form's Key, see data_plane.go.
//
// The group is the heading in the navigation, see navigation.go; bar is for the few pages on the bar of a phone. A
// template shows a past time with "ago", a future one with "moment", and an id with the template "id".
//
// A path variable whose name ends in "Id" is a UUID, which c.pathID returns; a malformed one is a 404 before anything
// is read. Other variables are texts, which c.path returns. The query has only the listed members, which c.query
// returns. A page that lists cursor also has limit, and c.paging reads both. The data is the JSON of the page and is
// .Data in the template, where the dot is a *frame: see its methods for links, forms and fields.
//
// # Adding an act
//
//	newAct(act{
//		name: "api_key.revoke", scope: scopeCompany, path: "/business/{companyId}/api-keys/{keyId}/revoke",
//		page: "/business/{companyId}/api-keys", permission: ticketing.PermissionAPIKeyManage, done: "The key was revoked.",
//	}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
//		key, err := c.operator.RevokeAPIKey(ctx, c.pathID("keyId"))
//		return outcome{data: key}, err
//	})
//
// The second argument reads the members of a JSON object or the fields of a form, by the same code:
//
//	func readKey(m *members) keyParams { return keyParams{name: m.text("name"), grants: m.texts("grants")} }
//
// In a template, Form returns the form of an act, and nothing for a person who may not do it. The pairs are variables
// of the act's path that this page's path does not have:
//
//	{{with .Form "api_key.issue"}}<form method="post" action="{{.Action}}">
//	{{template "field" (.Field "name" "Name" "hint=What the key is for" "required")}}
//	{{template "checks" (.Field "grants" "Grants" "option=order.read:Read orders")}}
//	<button class="button">Issue</button></form>{{end}}
//
//	{{with $.Form "api_key.revoke" "keyId" .ID}}<form method="post" action="{{.Action}}">…</form>{{end}}
//
// Other templates are "area", "select", "badge", "empty", "refusal" and "next", see templates/parts.html; the functions
// of templates are in format.go, icons in icons.svg. The layout shows why an act was refused, before the content of the
// page; a template that shows it elsewhere defines its own "refused". Styles are in src, in layers: the policy allows
// neither styles nor scripts in a page.
//
// A refused form is shown again on its page with what was typed, and each violation beside its field. An act whose
// response holds a secret returns outcome{show: "issued-key.html"}: that template is then the response, once, without a
// redirect. An act with recent set asks a person who signed in more than ten minutes ago to confirm who they are, and
// then continues with what they sent. A hidden field "_next" with a path of ours is the target of the redirect, such as
// a filtered list.
//
// # Protection
//
// The handler serves only the host of [Config.WebOrigin], and plain HTTP only on loopback. A POST must come from the
// same origin. A GET changes nothing, except for the return from an issuer of OpenID Connect: it signs in, and its
// state binds it to the browser. Every response has X-Request-Id, no-store and the policy headers.
package console
