'use client';

import { connect } from 'parley-client';
import { useEffect } from 'react';

interface AnswerProps {
  readonly url: string;
  readonly account: string;
  readonly token: string;
  readonly id: string;
}

export function Answer({ url, account, token, id }: AnswerProps) {
  useEffect(() => {
    const client = connect({ url, account, token });
    const conversation = client.conversation(id);
    conversation.opened
      .then(() => conversation.send(`Next read: ${conversation.messages.at(-1)?.body}`))
      .finally(() => client.close());
    return () => client.close();
  }, [url, account, token, id]);
  return null;
}
