import { ParleyProvider } from '@parley/client/react';
import type { VisitorSession, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { Chat } from './chat/chat.tsx';
import { Confirmation } from './chat/confirmation.tsx';
import type { Host } from './host/host.ts';
import { frameStorage } from './identity/frame-storage.ts';
import { type Identified, Identity } from './identity/identity.ts';
import { Visitor } from './identity/visitor-session.ts';
import { call } from './identity/widget-calls.ts';
import { readableOn } from './readable-on.ts';
import { languageOf, TEXTS } from './texts.ts';

export interface FrameProps {
  readonly published: Promise<WidgetPublic>;
  /** Null for the frame as a page of its own. */
  readonly greeted: Promise<Host | null>;
  /** The token of a mailed link. */
  readonly confirmation: string | null;
}

/** The frame: it waits for the page around it, and shows the chat of the person named there. */
export function Frame({ published, greeted, confirmation }: FrameProps) {
  const { value: parts, problem } = useResource(published, async () => ({
    widget: await published,
    host: await greeted,
  }));
  const language = languageOf(parts?.host?.lang ?? navigator.language);
  useLayoutEffect(() => {
    Object.assign(document.documentElement, { lang: language, dir: language === 'ar' ? 'rtl' : 'ltr' });
  }, [language]);
  if (problem !== '') {
    return (
      <main class="frame-failed">
        <p role="alert">{TEXTS[language].unavailable}</p>
        <Button onClick={() => location.reload()}>{TEXTS[language].reload}</Button>
      </main>
    );
  }
  if (parts === null) return null;
  return <OpenFrame {...parts} language={language} confirmation={confirmation} />;
}

interface OpenFrameProps {
  readonly widget: WidgetPublic;
  readonly host: Host | null;
  readonly language: 'en' | 'ar';
  readonly confirmation: string | null;
}

function OpenFrame({ widget, host, language, confirmation }: OpenFrameProps) {
  const [now, setNow] = useState<Identified | null>(null);
  const [isShown, setShown] = useState(host === null);
  const [token, setToken] = useState(confirmation);
  const [identity, visitor] = useMemo(() => {
    const visitor = new Visitor(widget.id, frameStorage('localStorage'));
    return [new Identity({ widget, visitor, host, onChange: setNow }), visitor];
  }, [widget, host]);
  useEffect(() => {
    if (host === null) void identity.change(false);
    else
      host.follow({
        identity: (isKnown) => void identity.change(isKnown),
        shown: setShown,
        // A field that does not exist yet takes the frame's focus once it does.
        focus: () => document.querySelector('textarea')?.focus(),
      });
  }, [host, identity]);
  useKeys((event) => {
    if (!event.defaultPrevented && pressedKey(event) === 'Escape') host?.close();
  });
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    for (const scheme of ['light', 'dark'] as const) {
      const color = widget.colors[scheme];
      if (color !== null) style.setProperty(`--widget-${scheme}`, color);
      if (color !== null) style.setProperty(`--widget-on-${scheme}`, readableOn(color));
    }
  }, [widget]);
  if (token !== null) {
    const confirm = async () => {
      const path = `/v1/widgets/${encodeURIComponent(widget.id)}/visitors/actions/open-confirmation`;
      visitor.keep(await call<VisitorSession>('POST', path, { body: { token } }), true);
      identity.reopen();
      setToken(null);
    };
    return <Confirmation texts={TEXTS[language]} onConfirm={confirm} />;
  }
  // The session that this browser keeps, or the token of the page, is being read.
  if (now === null) return null;
  return (
    <ParleyProvider client={now.client}>
      <Chat
        key={now.key}
        widget={widget}
        host={host}
        identity={identity}
        now={now}
        isShown={isShown}
        language={language}
      />
    </ParleyProvider>
  );
}
