'use client';

import { type Client, connect } from '@parley/client';
import { ParleyProvider, useConversation } from '@parley/client/react';
import { useEffect, useState } from 'react';

interface AnswerProps {
  readonly url: string;
  readonly account: string;
  readonly token: string;
  readonly id: string;
}

export function Answer({ url, account, token, id }: AnswerProps) {
  const [client, setClient] = useState<Client | null>(null);
  useEffect(() => {
    const made = connect({ url, account, token });
    setClient(made);
    return () => made.close();
  }, [url, account, token]);
  return (
    <ParleyProvider client={client}>
      <Newest id={id} />
    </ParleyProvider>
  );
}

function Newest({ id }: { readonly id: string }) {
  const { status, messages, live } = useConversation(id);
  const body = messages.at(-1)?.body ?? 'nothing yet';
  const isQuestion = status === 'ready' && messages.length === 1;
  useEffect(() => {
    if (isQuestion) void live?.send(`Next read: ${body}`);
  }, [isQuestion, live, body]);
  return <p>{body}</p>;
}
