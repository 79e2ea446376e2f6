import { connect, ParleyError } from '@parley/client';

const { PARLEY_URL: url = '', PARLEY_ACCOUNT: account = '', PARLEY_TOKEN: token, PARLEY_CONVERSATION: id = '' } = process.env;

// Node has a WebSocket of its own since version 22.
const WebSocket = globalThis.WebSocket ?? (await import('ws')).WebSocket;
const client = connect({ url, account, WebSocket, ...(token === undefined ? {} : { token }) });
const conversation = client.conversation(id);
await conversation.opened;
const last = conversation.messages.at(-1);

const attachment = await conversation.upload(new Blob(['A note.'], { type: 'text/plain' }), { filename: 'note.txt' });
const sent = await conversation.send({ body: `Node ${process.versions.node} read: ${last?.body}`, attachments: [attachment] });

const { sequence } = await client.fetch(`/v1/messaging/messages/${sent.id}`);
const refused = await client.fetch('/v1/messaging/messages/msg_none').catch((error) => error);
console.log(JSON.stringify({ isSent: sequence === sent.sequence, refused: refused instanceof ParleyError && refused.code }));
client.close();
