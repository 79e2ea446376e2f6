import { Button } from '@parley/ui/elements/button.tsx';
import { useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../texts/texts.ts';
import { hasRemotePictures, withPictures } from './mail-pictures.ts';
import { hasTable } from './mail-table.ts';

export interface MailHtmlProps {
  /** As the server has sanitized it. */
  readonly html: string;
  /** The address of each attachment of the message, in order. */
  readonly files: readonly (string | null)[];
}

/**
 * The HTML of a mail behind a button, open where it has a table of data, in a frame of another origin (src/edge/console/mail-frame.ts).
 * Pictures of other hosts are loaded when the person asks for them.
 */
export function MailHtml({ html, files }: MailHtmlProps) {
  const [isOpen, setOpen] = useState(() => hasTable(html));
  const [isLoading, setLoading] = useState(false);
  return (
    <>
      <Button class="mail-fold" look="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? texts.mail.hideHtml : texts.mail.showHtml}
      </Button>
      {isOpen && hasRemotePictures(html) && !isLoading && (
        <p class="mail-pictures">
          {texts.mail.noPictures}
          <Button look="plain" onClick={() => setLoading(true)}>
            {texts.mail.loadPictures}
          </Button>
        </p>
      )}
      {isOpen && <Frame key={isLoading} html={withPictures(html, files, isLoading)} isLoading={isLoading} />}
    </>
  );
}

function Frame({ html, isLoading }: { readonly html: string; readonly isLoading: boolean }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(0);
  useEffect(() => {
    const onMessage = ({ source, data }: MessageEvent<unknown>) => {
      if (source === frame.current?.contentWindow && typeof data === 'number') setHeight(data);
    };
    addEventListener('message', onMessage);
    return () => removeEventListener('message', onMessage);
  }, []);
  return (
    <iframe
      ref={frame}
      class="mail-html"
      title={texts.mail.html}
      sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"
      style={{ height: `${height}px` }}
      src={isLoading ? '/console/mail-frame/pictures' : '/console/mail-frame'}
      onLoad={() => frame.current?.contentWindow?.postMessage(html, '*')}
    />
  );
}
