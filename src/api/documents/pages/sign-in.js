// Shows the signed-in user at the end of the header, if an account has an identity provider for it
// (features/identity/). The access token stays in this script; the cookie is out of its reach.
const SESSION = '/v1/auth/session';
const VERSION = '1.2.harbor';

void show();

async function show() {
  const account = new URLSearchParams(location.search).get('account');
  const query = account === null ? '' : `?${new URLSearchParams({ account })}`;
  const offered = await fetch(`/v1/auth/sign-in/providers${query}`);
  const { data: providers = [] } = offered.ok ? await offered.json() : {};
  const traded = await fetch(SESSION, { method: 'POST' });
  if (traded.status === 200) await showPerson(await traded.json());
  else showProviders(providers);
}

function showProviders(providers) {
  const links = providers.map(({ id, name }) => {
    const query = new URLSearchParams({ provider: id, return_to: location.pathname + location.search });
    const link = document.createElement('a');
    link.href = `/v1/auth/sign-in?${query}`;
    link.textContent = `Sign in with ${name}`;
    return link;
  });
  if (links.length > 0) put(...links);
}

async function showPerson({ access_token, account_id }) {
  const me = await fetch('/v1/me', {
    headers: {
      Authorization: `Bearer ${access_token}`,
      'Service-Account': account_id,
      'Service-Version': VERSION,
    },
  });
  const name = document.createElement('span');
  name.textContent = me.ok ? `Signed in as ${(await me.json()).actor.name}` : 'Signed in';
  const out = document.createElement('button');
  out.type = 'button';
  out.textContent = 'Sign out';
  out.addEventListener('click', async () => {
    await fetch(SESSION, { method: 'DELETE' });
    location.reload();
  });
  put(name, out);
}

function put(...parts) {
  const box = document.createElement('div');
  box.className = 'session';
  box.append(...parts);
  document.querySelector('header').append(box);
}
