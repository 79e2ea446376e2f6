import { Icon } from '@parley/ui/elements/icon.tsx';
import { Notices } from '@parley/ui/feedback/notices.tsx';
import { takeUpNewest } from '@parley/ui/feedback/notify.ts';
import { useKeptFocus } from '@parley/ui/hooks/kept-focus.ts';
import { ArrowLeft } from 'lucide';
import { useEffect, useRef, useState } from 'preact/hooks';
import { NewConversation } from '../inbox/new-conversation.tsx';
import { Link } from '../nav/link.tsx';
import { go, type Main, type Pane, usePlace } from '../nav/place.ts';
import { keepDetailsOf, useStayingDetails } from '../nav/staying-pane.ts';
import { NotificationsPage } from '../notifications/notifications-page.tsx';
import { Palette } from '../search/palette.tsx';
import { SearchPage } from '../search/search-page.tsx';
import { useSignedIn } from '../session/session-context.tsx';
import { loadAdministrationTexts, texts } from '../texts/texts.ts';
import { Conversation } from '../timeline/conversation.tsx';
import { WorkPage } from '../work/work-page.tsx';
import { Banner } from './banner.tsx';
import { HelpDialog } from './help-dialog.tsx';
import { HomePage } from './home-page.tsx';
import { Loaded } from './loaded.tsx';
import { usePageTitle } from './page-title.ts';
import { focusField, focusMain, focusPart } from './parts-focus.ts';
import { controlsWithKeys, pressControl, useGlobalKeys } from './shortcuts.ts';
import { SideBar } from './side-bar.tsx';
import { SidePane } from './side-pane.tsx';

const DETAILS: Pane = { shows: 'details' };

type OpenDialog = 'palette' | 'new' | 'help';

/** The frame of the console: the side bar, the main part, and the pane beside it. */
export function Shell() {
  const { main, pane: asked } = usePlace();
  const { me, can } = useSignedIn();
  keepDetailsOf(me.actor.id);
  const stays = useStayingDetails();
  const pane = asked ?? (stays ? DETAILS : undefined);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const hasPane = main.at === 'conversation' && pane !== undefined;
  usePageTitle(main);
  useFocusOf(main);
  useKeptFocus();
  useGlobalKeys({
    find: () => setDialog('palette'),
    new: () => pressControl('N') || (can('messaging:create') && setDialog('new')),
    reply: () => pressControl('R'),
    done: () => pressControl('E'),
    snooze: () => pressControl('S'),
    assign: () => pressControl('A'),
    undo: takeUpNewest,
    search: () => go({ main: { at: 'search', search: {} } }),
    help: () => setDialog('help'),
    nextPart: () => focusPart(1),
    previousPart: () => focusPart(-1),
  });
  return (
    <div class="shell" data-main={main.at} data-pane={hasPane} data-focus=".shell-main">
      <a class="shell-skip" href="#main">
        {texts.shell.skipToContent}
      </a>
      {main.at === 'conversation' && (
        <button type="button" class="shell-skip" onClick={focusField}>
          {texts.shell.skipToField}
        </button>
      )}
      <SideBar
        onFind={() => setDialog('palette')}
        onNew={() => setDialog('new')}
        onHelp={() => setDialog('help')}
      />
      <Banner />
      <main class="shell-main" id="main" tabIndex={-1} data-focus="">
        <Link to={{ main: { at: 'home' } }} class="shell-back">
          <Icon of={ArrowLeft} size={16} />
          {texts.shell.inbox}
        </Link>
        {main.at === 'home' ? (
          <HomePage
            opensNewest={main.opens === 'newest'}
            onFind={() => setDialog('palette')}
            onNew={() => setDialog('new')}
            onHelp={() => setDialog('help')}
          />
        ) : (
          <MainPart main={main} />
        )}
      </main>
      {main.at === 'conversation' && pane !== undefined && (
        <SidePane conversationId={main.id} pane={pane} isAsked={asked !== undefined} />
      )}
      <Notices />
      {dialog === 'palette' && (
        <Palette
          findMore={can('users:read') ? findSections : findNothing}
          findActs={findActs}
          onClose={close}
        />
      )}
      {dialog === 'new' && <NewConversation onClose={close} />}
      {dialog === 'help' && <HelpDialog onClose={close} />}
    </div>
  );
}

/** Moves the focus with the place: into the opened part, and back to its row in the list. */
function useFocusOf(main: Main): void {
  const place = main.at === 'conversation' ? main.id : main.at;
  const isHome = main.at === 'home';
  const before = useRef(place);
  useEffect(() => {
    if (before.current === place) return;
    before.current = place;
    focusMain(isHome);
  }, [place, isHome]);
}

function MainPart({ main }: { readonly main: Exclude<Main, { readonly at: 'home' }> }) {
  switch (main.at) {
    case 'conversation':
      return (
        <Conversation
          key={main.id}
          id={main.id}
          {...(main.message !== undefined && { message: main.message })}
        />
      );
    case 'work':
      return <WorkPage />;
    case 'notifications':
      return <NotificationsPage />;
    case 'search':
      return <SearchPage />;
    case 'settings':
      return <Loaded load={settings} of={NOTHING} />;
    case 'administration':
      return <Loaded load={administration} of={NOTHING} />;
    case 'installation':
      return <Loaded load={installation} of={NOTHING} />;
  }
}

const NOTHING = {};
const findSections = async (words: string) => (await sections()).findSections(words);
/** What the head of the open conversation offers, once the palette has given the focus back. */
const findActs = () =>
  controlsWithKeys().map(({ label, key, press }) => ({
    id: `act-${key}`,
    name: label,
    detail: key,
    group: texts.shell.thisConversation,
    act: () => void requestAnimationFrame(press),
  }));
const findNothing = async () => [];

const administration = async () => (await sections()).AdministrationPage;
const settings = async () => (await import('./settings-page.tsx')).SettingsPage;
const installation = async () => {
  await loadAdministrationTexts();
  return (await import('../installation/installation.tsx')).Installation;
};

async function sections() {
  await loadAdministrationTexts();
  return import('../sections.tsx');
}
