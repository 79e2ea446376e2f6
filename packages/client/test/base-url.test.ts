import t from 'tap';
import { baseUrlOf } from '../connect.ts';
import { connect } from '../index.ts';

t.test('the same server, however its address is written', async (t) => {
  for (const text of [
    'https://chat.example',
    'https://chat.example/',
    'https://chat.example//',
    'wss://chat.example',
    'wss://chat.example/v1/realtime',
    'https://chat.example/v1/',
    'HTTPS://Chat.Example:443',
    ' https://chat.example ',
  ]) {
    t.equal(baseUrlOf(text), 'https://chat.example', text);
  }
  t.equal(baseUrlOf('ws://127.0.0.1:8080/'), 'http://127.0.0.1:8080');
  t.equal(baseUrlOf('http://[::1]:8080'), 'http://[::1]:8080');
  t.equal(baseUrlOf('https://example.com/parley/'), 'https://example.com/parley', 'below a path');
  t.equal(baseUrlOf('https://example.com/parley/v1/realtime'), 'https://example.com/parley');
});

t.test('connect() refuses an invalid server address, with the address in the message', async (t) => {
  for (const text of [
    'no address',
    'localhost:8080',
    '/v1',
    'ftp://chat.example',
    'https://chat.example/?account=1',
    'https://chat.example/#chat',
    'https://key@chat.example',
    '',
    undefined,
  ]) {
    const open = () => connect({ url: text as string, account: 'acc_1', token: 'token' });
    t.throws(open, { name: 'TypeError', message: `not ${JSON.stringify(text)}.` }, String(text));
  }
});
