/**
 * A page with `useChat` of the AI SDK over a conversation, as in an application. Bundled by
 * ai-chat.test.ts, which gives it the server and the conversation in its query.
 */

import { useChat } from '@ai-sdk/react';
import { connect } from '@parley/client';
import { ParleyChatTransport } from '@parley/client/ai';
import { createElement, StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

const { url, account, token, conversation: id } = Object.fromEntries(new URLSearchParams(location.search));
const client = connect({ url, account, token, mostWaitMs: 500 });
const transport = new ParleyChatTransport({ client });
const messages = await transport.messages(id);

function Chat() {
  const chat = useChat({ id, messages, transport, resume: true });
  window.chat = chat;
  window.stop = () => transport.stop(chat);
  return createElement(
    'ol',
    { 'data-status': chat.status },
    chat.messages.map((message) =>
      createElement(
        'li',
        { key: message.id, id: message.id, 'data-role': message.role },
        message.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
      ),
    ),
  );
}

createRoot(document.querySelector('main')).render(createElement(StrictMode, null, createElement(Chat)));
