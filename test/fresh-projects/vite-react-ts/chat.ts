import { connect } from '@parley/client';

const { url = '', account = '', token = '', conversation: id = '' } = Object.fromEntries(new URLSearchParams(location.search));

const client = connect({ url, account, token });
const conversation = client.conversation(id);
await conversation.opened;
await conversation.send(`Vite read: ${conversation.messages.at(-1)?.body}`);
client.close();
