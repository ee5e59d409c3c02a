"""Who may act: users, API tokens, sessions, logins, roles, and the checks of a request. No web framework.

A face that serves HTTP needs these, and nothing else from here:

    gate = open_gate(settings, config.actor, environ, get_passphrase)   at start; ConfigError if unsafe
    print(gate.start_link)                                              to open in a browser
    visit = gate.check(facts_of(method, scheme, peer, headers))         each request, before its route
    visit = gate.identify(visit, lend)                                  each that is not for everybody
    principal = visit.require(Permission.OPERATE)                       each route, by its permission
    Store(database, principal.actor)                                    changes are journalled in this name
    entry = gate.start(visit, token, next)                              GET /start?token=…
    entry = gate.log_in(store, visit, name, password, next)             POST of the login form
    entry = gate.begin_login(visit, next)                               to the identity provider
    entry = gate.finish_login(store, visit, query)                      GET of CALLBACK_PATH
    entry = gate.log_out(store, visit)                                  POST of the logout button

An entry is a redirect (`location`) with cookies (`cookie.header` is a Set-Cookie). What is refused raises
Unauthenticated (401), Forbidden (403), Throttled (429, `seconds` for Retry-After) or ProviderFailed (502).

Administration, for commands and routes that need Permission.ADMINISTER: `users.add_user`, `change_password`,
`remove_user`, `list_users`; `tokens.create_token`, `revoke_token`, `list_tokens`.
"""
