import { ParleyProvider } from '@parley/client/react';
import type { VisitorSession, WidgetPublic } from '@parley/protocol/resources/widget.ts';
import { directionOf, languageOf } from '@parley/protocol/resources/widget-languages.ts';
import { Button } from '@parley/ui/elements/button.tsx';
import { useResource } from '@parley/ui/hooks/resource.ts';
import { useKeys } from '@parley/ui/hooks/use-keys.ts';
import { writeIn } from '@parley/ui/text/language.ts';
import { wordComponents } from '@parley/ui/texts/ui-texts.ts';
import { pressedKey } from '@parley/ui/typing/pressed-key.ts';
import { useEffect, useLayoutEffect, useMemo, useState } from 'preact/hooks';
import { Chat } from './chat/chat.tsx';
import { Confirmation } from './chat/confirmation.tsx';
import type { Host } from './host/host.ts';
import { Asked } from './identity/asked.ts';
import { frameStorage } from './identity/frame-storage.ts';
import { type Identified, Identity } from './identity/identity.ts';
import { Visitor } from './identity/visitor-session.ts';
import { call } from './identity/widget-calls.ts';
import { readableOn } from './readable-on.ts';
import { ENGLISH, loadTexts, type Speech } from './texts/texts.ts';

export interface FrameProps {
  readonly published: Promise<WidgetPublic>;
  /** Null for the frame as a page of its own. */
  readonly greeted: Promise<Host | null>;
  /** The language that the address of the frame names, if it does. */
  readonly lang: string | null;
  /** The token of a mailed link. */
  readonly confirmation: string | null;
}

/** The frame: it waits for the page around it, and shows the chat of the person named there. */
export function Frame({ published, greeted, lang, confirmation }: FrameProps) {
  const [speech, setSpeech] = useState<Speech | null>(null);
  const { value: parts, problem } = useResource(published, async () => ({
    widget: await published,
    host: await greeted,
  }));
  useEffect(() => {
    void loadTexts(languageOf([lang ?? '', ...navigator.languages])).then((loaded) => {
      const { task, table } = loaded.texts;
      writeIn(loaded.language);
      wordComponents({ markdown: { task, table } });
      setSpeech(loaded);
    });
  }, [lang]);
  useLayoutEffect(() => {
    if (speech === null) return;
    const { language } = speech;
    Object.assign(document.documentElement, { lang: language, dir: directionOf(language) });
  }, [speech]);
  // Also while the panel is being loaded: it closes as soon as the page around is known.
  useKeys((event) => {
    if (event.defaultPrevented || pressedKey(event) !== 'Escape') return;
    void greeted.then(
      (host) => host?.close(),
      () => {},
    );
  });
  if (problem !== '') {
    const { texts } = speech ?? ENGLISH;
    return (
      <main class="frame-failed">
        <p role="alert">{texts.unavailable}</p>
        <Button onClick={() => location.reload()}>{texts.reload}</Button>
      </main>
    );
  }
  if (parts === null || speech === null) return null;
  return <OpenFrame {...parts} speech={speech} confirmation={confirmation} />;
}

interface OpenFrameProps {
  readonly widget: WidgetPublic;
  readonly host: Host | null;
  readonly speech: Speech;
  readonly confirmation: string | null;
}

function OpenFrame({ widget, host, speech, confirmation }: OpenFrameProps) {
  const [now, setNow] = useState<Identified | null>(null);
  const [isShown, setShown] = useState(host === null);
  const [token, setToken] = useState(confirmation);
  const [identity, visitor, asked] = useMemo(() => {
    const storage = frameStorage('localStorage');
    const visitor = new Visitor(widget.id, storage);
    const identity = new Identity({ widget, visitor, host, onChange: setNow });
    return [identity, visitor, new Asked(widget.id, storage)];
  }, [widget, host]);
  useEffect(() => {
    if (host === null) void identity.change(false);
    else
      host.follow({
        identity: (isKnown) => void identity.change(isKnown),
        shown: setShown,
        // A field that does not exist yet takes the frame's focus once it does.
        focus: () => document.querySelector<HTMLElement>('textarea, .home-new')?.focus(),
      });
  }, [host, identity]);
  const isPerson = now !== null && now.client !== null;
  useEffect(() => {
    if (now !== null && now.kind !== 'returning') host?.keep(isPerson);
  }, [host, now, isPerson]);
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    for (const scheme of ['light', 'dark'] as const) {
      const color = widget.colors[scheme];
      if (color !== null) style.setProperty(`--widget-${scheme}`, color);
      if (color !== null) style.setProperty(`--widget-on-${scheme}`, readableOn(color));
    }
  }, [widget]);
  /** Goes on as the customer whose address was confirmed. */
  const become = (session: VisitorSession) => {
    visitor.keep(session, true);
    asked.forget();
    identity.reopen();
  };
  if (token !== null) {
    const confirm = async () => {
      const path = `/v1/widgets/${encodeURIComponent(widget.id)}/visitors/actions/open-confirmation`;
      become(await call<VisitorSession>('POST', path, { body: { token } }));
      setToken(null);
    };
    return <Confirmation texts={speech.texts} onConfirm={confirm} />;
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
        asked={asked}
        onEntered={become}
        now={now}
        isShown={isShown}
        speech={speech}
      />
    </ParleyProvider>
  );
}
