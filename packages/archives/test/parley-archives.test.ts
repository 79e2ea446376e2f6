/** Exports of conversations of Parley, read by an import. */

import t from 'tap';
import { freshDirectory } from '../../../test/start/parley.ts';
import { type Contents, given, zipOf } from './archives.ts';

const scratch = freshDirectory(t);
const actor = (id: string, name: string, handle: string | null = null) => ({
  id,
  object: 'actor',
  type: 'user',
  name,
  handle,
});
const ada = actor('act_1', 'Ada', 'ada@example.org');
const AT = '2024-01-01T09:06:40.000001Z';
const message = (sequence: number, more: object = {}) => ({
  id: `msg_${sequence}`,
  object: 'chat_message',
  kind: 'chat',
  status: 'sent',
  visibility: 'internal',
  sequence,
  body: `number ${sequence}`,
  author: ada,
  sender: ada,
  attachments: [],
  mentions: [],
  reactions: [],
  created_at: AT,
  sent_at: AT.replace('000001', `${sequence}`.padStart(6, '0')),
  edited_at: null,
  deleted_at: null,
  reply_to_id: null,
  ...more,
});
const jsonl = (...values: unknown[]) =>
  values.map((it) => `${typeof it === 'string' ? it : JSON.stringify(it)}\n`).join('');

function exportOf(messages: readonly unknown[], more: Contents = {}): Contents {
  return {
    'conversation.json': {
      id: 'cnv_1',
      type: 'group',
      audience: 'customer',
      title: 'Pier',
      status: 'active',
      created_at: AT,
    },
    'participants.jsonl': jsonl(
      { type: 'user', role: 'owner', membership: 'active', actor: ada, last_read_sequence: 2 },
      {
        type: 'user',
        role: 'member',
        membership: 'left',
        actor: actor('act_2', 'Grace'),
        last_read_sequence: null,
      },
      {
        type: 'customer',
        role: 'member',
        membership: 'active',
        actor: actor('act_3', 'Carl', 'carl@shop.example'),
        last_read_sequence: 99,
      },
    ),
    'messages.jsonl': jsonl(...messages),
    'manifest.json': { object: 'export_manifest', format: 1, subject: { type: 'conversation', id: 'cnv_1' } },
    ...more,
  };
}

t.test('a case: people, messages, threads, files, reactions, what was read', async (t) => {
  const path = await zipOf(
    scratch,
    exportOf(
      [
        message(1, { visibility: 'external', author: actor('act_3', 'Carl') }),
        message(2, {
          reply_to_id: 'msg_1',
          edited_at: AT,
          mentions: ['act_2'],
          reactions: [
            { emoji: '🎉', actor_id: 'act_2', created_at: AT },
            { emoji: 'x', actor_id: 'act_2' },
          ],
          attachments: [
            {
              id: 'att_1',
              kind: 'file',
              filename: 'list.txt',
              content_type: 'text/plain',
              size_bytes: 2,
              url: 'files/key1',
            },
            { id: 'att_2', kind: 'image', filename: 'gone.png', url: null, removed_at: AT },
            { id: 'att_3', kind: 'link', url: 'https://example.org' },
          ],
        }),
        message(3, { deleted_at: AT, body: null }),
        message(4, {
          author: null,
          sender: null,
          kind: 'system_event',
          visibility: 'system',
          reply_to_id: 'msg_0',
        }),
        message(5, { author: actor('act_9', 'Vera'), incomplete: 'length' }),
        message(5),
        message(6, { status: 'draft', sequence: null, sent_at: null }),
        '{',
      ],
      { 'files/key1': 'hi' },
    ),
  );
  const all = await given('parley', path, { scratch });
  t.match(all.people.get('act_3'), { kind: 'customer', email: 'carl@shop.example' });
  t.match(all.people.get('act_9'), { kind: 'placeholder', name: 'Vera' });
  t.match(all.conversations.get('cnv_1'), {
    kind: 'channel',
    title: 'Pier',
    audience: 'customer',
    private: true,
    created_at: AT,
    members: [
      { person: 'act_1', role: 'owner' },
      { person: 'act_3', role: 'member' },
    ],
  });
  const [first, second, third, fourth, fifth] = all.messages;
  t.match(first, {
    client_message_id: 'parley:msg_1',
    author: 'act_3',
    audience: 'customer',
    created_at: AT,
  });
  t.match(second, {
    reply_to: 'parley:msg_1',
    edited_at: AT,
    mentions: ['act_2'],
    body: 'number 2\nhttps://example.org',
    reactions: [{ emoji: '🎉', person: 'act_2' }],
    audience: 'internal',
    files: [{ name: 'list.txt', size: 2, source: { entry: 'files/key1' } }],
  });
  t.match(third, { body: null, deleted_at: AT });
  t.match(fourth, { author: 'service', system: true, reply_to: null, incomplete: null });
  t.match(fifth, { author: 'act_9', incomplete: 'length' });
  t.strictSame(
    all.positions.map(({ person, through }) => [person, through]),
    [
      ['act_1', { message: 'parley:msg_2' }],
      ['act_3', { message: 'parley:msg_5' }],
    ],
  );
  t.strictSame(
    all.skipped.map(({ of, reason }) => `${of} ${reason}`),
    [
      'documents unreadable',
      'reactions unreadable',
      'files missing_file',
      'messages duplicate',
      'messages not_sent',
    ],
  );
});

t.test('what is no export of a conversation is refused', async (t) => {
  const refused = async (manifest: unknown, message: RegExp) =>
    t.rejects(
      given('parley', await zipOf(scratch, exportOf([], { 'manifest.json': manifest })), { scratch }),
      { message },
    );
  await refused('{', /no manifest/);
  await refused({ object: 'export_manifest', format: 2 }, /later version/);
  await refused({ object: 'export_manifest', format: 1, subject: { type: 'user' } }, /export of a person/);
  await t.rejects(given('parley', await zipOf(scratch, { 'a.txt': 'x' }), { scratch }), {
    message: /no manifest/,
  });
});
