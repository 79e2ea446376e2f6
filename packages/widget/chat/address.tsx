import { useClient } from '@parley/client/react';
import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useState } from 'preact/hooks';
import type { WidgetTexts } from '../texts.ts';

export interface AddressProps {
  readonly texts: WidgetTexts;
  readonly widget: WidgetPublic;
  readonly language: 'en' | 'ar';
}

/** The form by which a visitor asks for a mailed link, which identifies it on other devices. */
export function Address({ texts, widget, language }: AddressProps) {
  const client = useClient();
  const [email, setEmail] = useState('');
  const [sent, setSent] = useState('');
  const [problem, setProblem] = useState('');
  if (sent !== '') return <p role="status">{texts.addressSent(sent)}</p>;
  const submit = async (event: Event) => {
    event.preventDefault();
    setProblem('');
    try {
      const path = `/v1/widgets/${widget.id}/visitors/actions/confirm-address` as const;
      const body = { email: email.trim(), language };
      await client!.fetch(path, { method: 'POST', body });
      setSent(body.email);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form class="address" onSubmit={submit}>
      <p>{texts.addressTitle}</p>
      <label>
        <span>{texts.addressLabel}</span>
        <input
          required
          type="email"
          dir="ltr"
          autocomplete="email"
          value={email}
          onInput={({ currentTarget }) => setEmail(currentTarget.value)}
        />
      </label>
      <Button type="submit">{texts.addressSend}</Button>
      {problem !== '' && (
        <p class="chat-problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}
