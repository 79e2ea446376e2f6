import { useClient } from '@parley/client/react';
import type { AddressConfirmation, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import type { WidgetLanguage } from '@parley/protocol/resources/widget-languages.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useAction } from '@parley/ui/feedback/action.ts';
import { Problem } from '@parley/ui/feedback/problem.tsx';
import { useState } from 'preact/hooks';
import { type Asked, isOpen } from '../identity/asked.ts';
import { EnterCode, type EnterCodeProps } from './enter-code.tsx';

export interface AddressProps extends Pick<EnterCodeProps, 'texts' | 'isWaiting' | 'onEntered'> {
  readonly widget: WidgetPublic;
  readonly language: WidgetLanguage;
  readonly asked: Asked;
}

/**
 * The form by which a visitor asks for a mail, whose code identifies it here, and whose link on
 * other devices.
 */
export function Address({ texts, widget, language, asked, isWaiting, onEntered }: AddressProps) {
  const client = useClient();
  const [email, setEmail] = useState('');
  const [mail, setMail] = useState(() => asked.mail);
  const { problem, run } = useAction();
  if (mail !== null && isOpen(mail)) {
    return (
      <>
        <p role="status">{texts.addressSent(mail.email)}</p>
        <EnterCode
          texts={texts}
          widgetId={widget.id}
          mail={mail}
          isWaiting={isWaiting ?? false}
          onEntered={onEntered}
        />
      </>
    );
  }
  const submit = (event: Event) => {
    event.preventDefault();
    void run(async () => {
      const path = `/v1/widgets/${widget.id}/visitors/actions/confirm-address` as const;
      const body = { email: email.trim(), language };
      const { confirmation_token, expires_at } = await client!.fetch<AddressConfirmation>(path, {
        method: 'POST',
        body,
      });
      asked.keep({ email: body.email, confirmation_token: confirmation_token!, expires_at });
      setMail(asked.mail);
    });
  };
  return (
    <form class="address" onSubmit={submit}>
      <p>{widget.mails_answers ? texts.addressTitle : texts.addressOtherDevice}</p>
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
