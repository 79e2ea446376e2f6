/** Places, keys, and what the console says of its connection, its searches and its title. */

import './english.ts';
import t from 'tap';
import { keyPress } from '../../../test/support/key-press.ts';
import { pathOf, placeOf } from '../nav/place.ts';
import { piecesOf } from '../search/pieces.ts';
import { filterOf } from '../search/search-filter.ts';
import { type ConnectionFacts, connectionNote } from '../shell/connection-note.ts';
import { globalKey } from '../shell/shortcuts.ts';

t.test('a search is a place', async (t) => {
  const place = { main: { at: 'search', search: { q: 'a & b', in: 'cnv_1', has: 'file' } } } as const;
  const url = new URL(pathOf(place), 'http://x');
  t.strictSame(placeOf(url.pathname, url.search), place);
  t.strictSame(placeOf('/console/search', '?q=&other=1'), { main: { at: 'search', search: {} } });
});

t.test('what the banner says', async (t) => {
  const note = (facts: Partial<ConnectionFacts>) =>
    connectionNote({ state: 'live', error: null, unsent: 0, hasNetwork: true, isBroken: false, ...facts });
  const network = { reason: 'network', message: '', willRetry: true, attempt: 1 } as const;
  t.strictSame(note({}), { look: 'live', title: 'Live', detail: '' });
  t.match(note({ state: 'catching_up' }), { look: 'wait', title: 'Catching up…' });
  t.match(note({ state: 'connecting' }), { look: 'wait', title: 'Connecting…' });
  t.strictSame(note({ state: 'connecting', error: network, unsent: 2 }), {
    look: 'offline',
    title: 'Offline',
    detail: 'The server cannot be reached. 2 messages wait to be sent.',
  });
  t.match(note({ state: 'offline', error: { ...network, reason: 'credential_rejected' } }), {
    detail: 'The session has ended. Sign in again.',
  });
  t.match(note({ hasNetwork: false, unsent: 1 }), {
    look: 'offline',
    detail: 'This device has no network. 1 message waits to be sent.',
  });
  t.match(note({ isBroken: true }), { look: 'offline', detail: 'You have broken the network of this page.' });
  t.match(note({ unsent: 1, error: { ...network, reason: 'server_busy' } }), { look: 'wait' });
  t.match(note({ unsent: 1 }), { look: 'live' }, 'a message on its way is nothing to say');
});

t.test('keys: none that is part of a text, or of a composition', async (t) => {
  const press = (key: string, more: object = {}, isInText = false) =>
    globalKey(keyPress(key, '', more), isInText);
  t.equal(press('k', { ctrlKey: true }, true), 'find');
  t.equal(press('K', { metaKey: true }), 'find');
  t.equal(press('k', { ctrlKey: true, isComposing: true }), undefined);
  t.equal(press('n', { keyCode: 229 }), undefined);
  t.equal(press('л', { ctrlKey: true, code: 'KeyK' }), 'find');
  t.equal(press('т', { code: 'KeyN' }), 'new');
  t.equal(press('/', { shiftKey: true, code: 'Digit7' }), 'search', 'where that key is one for figures');
  t.equal(press('k', { ctrlKey: true, metaKey: true }), undefined);
  t.equal(press('k'), undefined);
  t.equal(press('?', { shiftKey: true }), 'help');
  t.equal(press('?', { shiftKey: true }, true), undefined);
  t.equal(press('n', {}, true), undefined);
  t.strictSame(
    ['r', 'e', 's', 'a', 'z'].map((key) => press(key)),
    ['reply', 'done', 'snooze', 'assign', 'undo'],
  );
  t.strictSame(
    ['r', 'e', 's', 'a', 'z'].map((key) => press(key, {}, true)),
    Array(5).fill(undefined),
  );
  t.equal(press('r', { ctrlKey: true, metaKey: true }), undefined);
  t.equal(press('n', { altKey: true }), undefined);
  t.equal(press('F6', {}, true), 'nextPart');
  t.equal(press('F6', { shiftKey: true }), 'previousPart');
});

t.test('the filter of a search: whole days, and only what is asked for', async (t) => {
  t.strictSame(filterOf({}), { type: 'messages', include: ['conversation', 'sender'] });
  t.match(filterOf({ in: 'cnv_1', by: 'act_1', after: '2026-11-01', before: '2026-11-01', has: 'file' }), {
    conversation_id: 'cnv_1',
    author_id: 'act_1',
    after: new Date(2026, 10, 1).toISOString(),
    before: new Date(2026, 10, 2).toISOString(),
    has: 'file',
  });
  t.notOk('after' in filterOf({ after: 'yesterday' }));
  t.notOk('has' in filterOf({ has: 'everything' }));
});

t.test('highlights: a text in pieces', async (t) => {
  const pieces = piecesOf({
    text: 'The parcel arrives.',
    ranges: [
      { start: 0, end: 3 },
      { start: 4, end: 10 },
    ],
  });
  t.strictSame(
    pieces.map(({ text, isHit }) => (isHit ? `[${text}]` : text)),
    ['[The]', ' ', '[parcel]', ' arrives.'],
  );
  t.strictSame(piecesOf({ text: '', ranges: [] }), []);
});
