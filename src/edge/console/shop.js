// Tells the widget who is signed in, as an application's page does, by a token that its own server
// has signed. A person who signs out is a stranger again (docs/contract.md#widgets).
const visitor = document.querySelector('#visitor');
const sign = document.querySelector('#sign');
let isCarl = false;

sign.addEventListener('click', change);
sign.hidden = false;
change();

function change() {
  isCarl = !isCarl;
  visitor.textContent = isCarl ? 'Signed in as Carl.' : 'You are a stranger here.';
  sign.textContent = isCarl ? 'Sign out' : 'Sign in as Carl';
  if (isCarl) window.Parley.identify(token);
  else window.Parley.forget();
}

async function token() {
  const answer = await fetch('/demo/shop/token', { method: 'POST' });
  if (!answer.ok) throw new Error(`The shop answered ${answer.status}.`);
  return (await answer.json()).token;
}
