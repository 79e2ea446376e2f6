import { useClient } from '@parley/client/react';
import type { WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
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
  const { problem, run } = useAction();
  if (sent !== '') return <p role="status">{texts.addressSent(sent)}</p>;
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const path = `/v1/widgets/${widget.id}/visitors/actions/confirm-address` as const;
      const body = { email: email.trim(), language };
      await client!.fetch(path, { method: 'POST', body });
      setSent(body.email);
    });
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
      <Problem text={problem} />
    </form>
  );
}
