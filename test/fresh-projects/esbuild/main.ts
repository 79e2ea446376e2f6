import { type Conversation, connect } from '@parley/client';

const { PARLEY_URL: url = '', PARLEY_ACCOUNT: account = '', PARLEY_TOKEN: token = '', PARLEY_CONVERSATION: id = '' } = process.env;

const client = connect({ url, account, token });
const found: Conversation = await client.conversations.get(id, ['last_message']);
const { id: sent } = await client.send(id, `esbuild read: ${found.last_message?.body}`);
const { pinned_by: by } = await client.fetch(`/v1/messaging/messages/${sent}/actions/pin`, { method: 'POST' });
const me: string | null = by;
if (me !== client.actor?.id) throw new Error(`pinned by ${me}`);
client.close();
