"""What the tools of a preflight print, written after their documented formats: iw's scan.c, nmcli(1), the reference of
`netsh wlan show networks` and of Get-NetTCPSetting, traceroute(8), `tracert`.
"""

from __future__ import annotations

from pathlib import Path

IW = (Path(__file__).parent / "samples" / "iw-scan.txt").read_text(encoding="utf-8")
WIDE = (Path(__file__).parent / "samples" / "iw-scan-wide.txt").read_text(encoding="utf-8")
# Wide letters take two columns of the table, combining ones none.
NMCLI = """\
IN-USE  BSSID              SSID            MODE   CHAN  RATE        SIGNAL  BARS  SECURITY
*       52:33:F0:9F:32:04  小心王占        Infra  11    130 Mbit/s  63      ▂▄▆_  WPA2
        50:33:F0:BF:32:06  cmcc: 5G        Infra  149   270 Mbit/s  100     ▂▄▆█  WPA1 WPA2
        52:33:F0:AF:32:06  --              Infra  1     54 Mbit/s   0       ____  --
        52:33:F0:AF:32:07  cafe\u0301 bar        Infra  6     54 Mbit/s   40      ▂___  --
"""
TERSE = r"""*:52\:33\:F0\:9F\:32\:04:a\:b\\c:11:2462 MHz:63
 :50\:33\:F0\:BF\:32\:06::1:5955 MHz:100
:50\:33\:F0\:BF\:32\:07:x:6:2437 MHz:
"""
NETSH = """\

Interface name : Wi-Fi
There are 3 networks currently visible.

SSID 1 : Home : upstairs
    Network type            : Infrastructure
    Authentication          : WPA3-Personal
    Encryption              : CCMP
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 86%
         Radio type         : 802.11ax
         Band               : 6 GHz
         Channel            : 37
         Bss Load:
             Connected Stations:         4
             Channel Utilization:        35 (13 %)
             Medium Available Capacity:  38000 (µs/s)
         Basic rates (Mbps) : 6 12 24
         Other rates (Mbps) : 9 18 36 48 54
    BSSID 2                 : 00:11:22:33:44:56
         Signal             : 62%
         Radio type         : 802.11n
         Channel            : 6

SSID 2 :
    Network type            : Infrastructure
    BSSID 1                 : aa:bb:cc:dd:ee:ff
         Signal             : 4%
         Radio type         : 802.11n
         Channel            : 100

SSID 3 : without
    Network type            : Infrastructure
"""
NETSH_GERMAN = """\
Schnittstellenname : WLAN
Momentan sind 1 Netzwerke sichtbar.

SSID 1 : Büro
    Netzwerktyp             : Infrastruktur
    Authentifizierung       : WPA2-Personal
    Verschlüsselung         : CCMP
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 90 %
         Funktyp            : 802.11n
         Kanal              : 13
         Basisraten (MBit/s): 1 2 5,5 11
"""
# French has a no-break space before the colon of a number, and before "%".
NETSH_FRENCH = """\

Nom de l'interface\u00a0: Wi-Fi
Il existe 2 réseaux actuellement visibles.

SSID 1\u00a0: Livebox-1234
    Type de réseau          : Infrastructure
    Authentification        : WPA2 - Personnel
    Chiffrement             : CCMP
    BSSID 1\u00a0: 00:11:22:33:44:55
         Signal             : 64\u00a0%
         Type de radio      : 802.11ac
         Bande              : 5 GHz
         Canal              : 44
         Vitesses de base (Mbits/s)\u00a0: 6 12 24

SSID 2\u00a0:
    Type de réseau          : Infrastructure
    BSSID 1\u00a0: 66:77:88:99:aa:bb
         Signal             : 20 %
         Type de radio      : 802.11n
         Canal              : 6
"""
NETSH_CHINESE = """\

接口名称 : WLAN
当前有 1 个网络可见。

SSID 1 : 校园网
    网络类型                : 结构
    身份验证                : WPA2 - 个人
    加密                    : CCMP
    BSSID 1                 : 00:11:22:33:44:55
         信号               : 90%
         无线电类型         : 802.11n
         波段               : 2.4 GHz
         频道               : 11
         基本速率(Mbps)     : 1 2 5.5 11
"""
# The study's "Internet" template (links-and-queues of the paper's tables), in the form of the cmdlet.
INTERNET = """\

SettingName                   : Automatic
MinRto(ms)                    :
InitialCongestionWindow(MSS)  :
CongestionProvider            :

SettingName                   : Internet
MinRto(ms)                    : 300
InitialCongestionWindow(MSS)  : 10
CongestionProvider            : CUBIC
CwndRestart                   : False
DelayedAckTimeout(ms)         : 40
DelayedAckFrequency           : 2
MemoryPressureProtection      : Enabled
AutoTuningLevelLocal          : Normal
AutoTuningLevelGroupPolicy    : NotConfigured
AutoTuningLevelEffective      : Local
EcnCapability                 : Disabled
Timestamps                    : Disabled
InitialRto(ms)                : 1000
ScalingHeuristics             : Disabled
DynamicPortRangeStartPort     : 49152
NonSackRttResiliency          : Disabled
ForceWS                       : Enabled
MaxSynRetransmissions         : 4
"""
# After the reference of `netsh wlan show interfaces`, of a machine with two interfaces; a newer build says "AP BSSID".
NETSH_NEAR = """
Interface name : Wi-Fi
There are 2 networks currently visible.

SSID 1 : Home
    Network type            : Infrastructure
    BSSID 1                 : 00:11:22:33:44:55
         Signal             : 90%
         Radio type         : 802.11ax
         Channel            : 11

SSID 2 : Neighbour
    Network type            : Infrastructure
    BSSID 1                 : 66:77:88:99:aa:bb
         Signal             : 40%
         Radio type         : 802.11n
         Channel            : 6
"""
NETSH_INTERFACES = """
Es sind 2 Schnittstellen auf dem System vorhanden:

    Name                   : WLAN
    Beschreibung           : Intel(R) Wi-Fi 6 AX201 160MHz
    GUID                   : 1b0e1f5c-9c4e-4d2a-8f7c-0a1b2c3d4e5f
    Physische Adresse      : 3c:58:c2:aa:bb:cc
    Status                 : Verbunden
    SSID                   : Home
    {label}                : 00:11:22:33:44:55
    Netzwerktyp            : Infrastruktur
    Funktyp                : 802.11ax
    Kanal                  : 11
    Empfangsrate (MBit/s)  : 287
    Signal                 : 90%
    Profil                 : Home

    Status des gehosteten Netzwerks: Nicht verfügbar

    Name                   : WLAN 2
    Beschreibung           : Realtek USB
    GUID                   : {{0c0e1f5c-9c4e-4d2a-8f7c-0a1b2c3d4e5f}}
    Physische Adresse      : 3c:58:c2:aa:bb:cd
    Status                 : Getrennt
"""
TRACEROUTE = """\
traceroute to host.example (203.0.113.9), 30 hops max, 60 byte packets
 1  gateway (192.0.2.1)  1.123 ms  0.9 ms  1,000 ms
 2  * * *
 3  a.example (198.51.100.1)  12.1 ms b.example (198.51.100.2)  14.1 ms *
 4  2001:db8::9  15 ms !X  16 ms !X  17 ms !X
"""
TRACERT = """\
Routenverfolgung zu host.example [203.0.113.9]
über maximal 30 Hops:

  1    <1 ms    <1 ms     1 ms  192.0.2.1
  2     *        *        *     Zeitüberschreitung der Anforderung.
  3    12 ms    11 ms    13 ms  host.example [203.0.113.9]

Ablaufverfolgung beendet.
"""
