// Runs in the browser: finds endpoints or names, and opens the target of an address.

const search = document.getElementById('finder');
const filter = document.getElementById('filter');
const found = document.getElementById('found');
const contents = document.getElementById('contents');
const operations = [...document.querySelectorAll('.chapter details.operation')];

search.hidden = false;
search.addEventListener('submit', (event) => event.preventDefault());
filter.addEventListener('input', () => {
  const words = filter.value.toLowerCase().split(/\s+/);
  const matches = (operation) => {
    const members = [...operation.querySelectorAll('[id]')].map(({ id }) => id);
    const names = [operation.id, ...members].join(' ').replaceAll('_', ' ');
    const text = `${names} ${operation.firstElementChild.textContent}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  for (const operation of operations) {
    operation.hidden = !matches(operation);
    document.querySelector(`nav a[href="#${operation.id}"]`).parentElement.hidden = operation.hidden;
  }
  for (const group of document.querySelectorAll('.chapter, .group')) {
    group.hidden = group.querySelector('details:not([hidden]), li:not([hidden])') === null;
  }
  const { length } = operations.filter(({ hidden }) => !hidden);
  found.textContent =
    filter.value.trim() === '' ? '' : `${length} of ${operations.length} ${search.dataset.of}`;
});

// A phone shows the text first; the contents open by a tap.
const narrow = matchMedia('(max-width: 56rem)');
const foldContents = () => {
  contents.open = !narrow.matches;
};
narrow.addEventListener('change', foldContents);
foldContents();

const openTarget = () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const operation = target?.closest('details.operation');
  if (!operation) return;
  operation.open = true;
  if (narrow.matches) foldContents();
  target.scrollIntoView();
};
addEventListener('hashchange', openTarget);
// A link to the present target changes no hash.
document.addEventListener('click', ({ target }) => {
  if (target instanceof Element && target.closest('a')?.hash === location.hash) openTarget();
});

for (const shown of document.querySelectorAll('.command code')) {
  shown.textContent = shown.textContent.replace('http://localhost:8080', location.origin);
}
openTarget();
