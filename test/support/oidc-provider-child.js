/**
 * A real OpenID provider. It prints its issuer, answers 503 until it has read a line of JSON (the
 * clients and the private keys), and is the provider from then on. So clients can depend on its
 * address, which no other process can take meanwhile. The sign-in's form takes any name, which is
 * the subject; consent is given without a question.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { Provider } from 'oidc-provider';

let answer = (_request, response) => response.writeHead(503).end();
const server = createServer((request, response) => answer(request, response)).listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;
process.stdout.write(`${JSON.stringify({ issuer })}\n`);
const [line] = await once(createInterface({ input: process.stdin }), 'line');
const { clients, jwks } = JSON.parse(line);

const provider = new Provider(issuer, {
  clients,
  jwks,
  pkce: { required: () => true },
  claims: { openid: ['sub'], profile: ['name'], email: ['email', 'email_verified'] },
  features: {
    devInteractions: { enabled: false },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (context, form) => {
        context.body = `<!doctype html><title>Sign out</title>${form}<button form="op.logoutForm" name="logout" value="yes">Yes</button>`;
      },
    },
  },
  findAccount: (_context, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: `${id} of the team`, email: `${id}@example.com`, email_verified: true }),
  }),
  // Leaves out its guard, which keeps it from this machine.
  fetch: (url, { dispatcher: _, ...options }) => fetch(url, options),
  interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
  cookies: { keys: ['a key of this test alone'] },
  ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, AuthorizationCode: 60, IdToken: 600 },
});

provider.on('backchannel.error', (_context, error) => {
  process.stderr.write(`${error.stack}\n`);
});
provider.on('server_error', (_context, error) => {
  process.stderr.write(`${error.stack}\n`);
});

provider.use(async (context, next) => {
  const path = context.path.match(/^\/interaction\/[\w-]+$/);
  if (path === null) return next();
  const details = await provider.interactionDetails(context.req, context.res);
  const finish = (result) => provider.interactionFinished(context.req, context.res, result);
  context.respond = false;
  if (details.prompt.name === 'consent') {
    const grant = new provider.Grant({
      accountId: details.session.accountId,
      clientId: details.params.client_id,
    });
    grant.addOIDCScope(details.params.scope);
    return finish({ consent: { grantId: await grant.save() } });
  }
  if (context.method !== 'POST') {
    context.respond = true;
    context.body = `<!doctype html><title>Provider</title><form method="post"><input name="login" aria-label="Name"><button>Go</button></form>`;
    return;
  }
  let text = '';
  for await (const piece of context.req) text += piece;
  return finish({ login: { accountId: new URLSearchParams(text).get('login') } });
});

answer = provider.callback();
