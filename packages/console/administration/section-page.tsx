import { ValueContext } from '@parley/ui/data/value-context.ts';
import { useState } from 'preact/hooks';
import { go } from '../nav/place.ts';
import { ItemPage } from './item-page.tsx';
import { ListPage } from './list-page.tsx';
import { NewPage } from './new-page.tsx';
import { type Notice, NoticeBox } from './notice.tsx';
import { type Page, PageContext } from './page.ts';
import { referenceOf } from './reference.tsx';
import type { Secrets } from './secrets.ts';
import type { Section } from './section.ts';

/** The id in the path under which something new is made. */
const NEW = 'new';

export interface SectionPageProps {
  readonly section: Section;
  readonly id: string | undefined;
  readonly secrets: Secrets;
}

/** One section: its list, one item, or the form for a new one. */
export function SectionPage({ section, id = '', secrets }: SectionPageProps) {
  const [notice, setNotice] = useState<Notice & { readonly at: string }>();
  const show: Page['show'] = (text, { secret, of = '', at = id, isGone = false } = {}) => {
    if (isGone) secrets.forget(id);
    if (secret === undefined) setNotice({ at, text });
    else secrets.add({ text, secret, of, at }, id);
  };
  const open = (next?: string, slug = section.slug) =>
    go({ main: { at: 'administration', section: slug, ...(next !== undefined && { id: next }) } });
  return (
    <PageContext.Provider value={{ section, show, open }}>
      <ValueContext.Provider value={{ ofId: referenceOf, labelOf: (name) => section.texts[name]?.label }}>
        <div class="administration-page">
          {secrets.shown.map((one) => (
            <NoticeBox key={one.secret} {...one} onClose={() => secrets.close(one)} />
          ))}
          {notice?.at === id && (
            <NoticeBox key={notice.text} {...notice} onClose={() => setNotice(undefined)} />
          )}
          {section.list === undefined ? (
            <ItemPage id="" />
          ) : id === '' ? (
            <ListPage />
          ) : id === NEW ? (
            <NewPage />
          ) : (
            <ItemPage key={id} id={id} />
          )}
        </div>
      </ValueContext.Provider>
    </PageContext.Provider>
  );
}
